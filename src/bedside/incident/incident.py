"""An incident that was read back: `bedside.incident.load("runs/a")`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.incident.folder import Series, find, read, read_vitals
from bedside.incident.serialisation import unpack
from bedside.wording import count, plural

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bedside.incident.replay.kept_batch import KeptBatch
    from bedside.incident.replay.replay_result import Replay
    from bedside.training.forward import Forward, LossFunction


class Incident:
    """One step that went wrong, with everything that is needed to run it again."""

    def __init__(self, folder: Path, facts: Mapping[str, Any], tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
        self.folder = folder
        self.facts = facts
        self._tensors = tensors

    @property
    def step(self) -> int:
        return int(self.facts["step"])

    @property
    def kind(self) -> str:
        """nonfinite loss, nonfinite gradient, spike, exception or out of memory."""
        return str(self.facts["kind"])

    @property
    def evidence(self) -> dict[str, Any]:
        """The numbers that made it an incident."""
        return dict(unpack(self.facts["evidence"], {}))

    @property
    def micro_batches(self) -> list[KeptBatch]:
        from bedside.incident.replay.kept_batch import kept_batch

        return [kept_batch(each, self._tensors["batches"]) for each in self.facts["micro_batches"]]

    @property
    def weights(self) -> dict[str, Tensor]:
        """Parameters and buffers from before the update, by name."""
        trees = {**self.facts["parameters"], **self.facts["buffers"]}
        return {name: unpack(tree, self._tensors["weights"]) for name, tree in trees.items()}

    @property
    def optimizers(self) -> list[dict[str, Any]]:
        """The state of each optimizer from before the update, for `load_state_dict`."""
        return [unpack(each["state"], self._tensors["optimizer"]) for each in self.facts["optimizers"]]

    @property
    def schedulers(self) -> list[dict[str, Any]]:
        return [unpack(each["state"], self._tensors["optimizer"]) for each in self.facts["schedulers"]]

    @property
    def scaler(self) -> dict[str, Any] | None:
        state: dict[str, Any] | None = unpack(self.facts["scaler"], self._tensors["optimizer"])
        return state

    @property
    def vitals(self) -> Series:
        """The last steps of every series up to this one: (vital, owner) to steps and values."""
        return read_vitals(self.folder)

    def replay(
        self,
        model: nn.Module,
        loss_fn: LossFunction | None = None,
        *,
        forward: Forward | None = None,
        anyway: bool = False,
    ) -> Replay:
        """Run the step again on the weights and batches of then; the model is put back as it is afterwards.

        Args:
            model: The same architecture; its present weights do not matter.
            loss_fn: A function of (output, target) or (output, batch). Without one the model's own loss counts, or the
                loss function of torch that was called at the time.
            forward: A function of (model, batch) where the model is called more than once in a step.
            anyway: Also where versions, device or precision differ; the result then is not the same bits.
        """
        from bedside.errors import BedsideError
        from bedside.incident.replay.replay import replay

        try:
            return replay(self, model, loss_fn, forward=forward, anyway=anyway)
        except BedsideError as error:
            raise error.with_call("incident.replay(model, loss_fn)") from None

    def __str__(self) -> str:
        facts = self.facts
        parameters = sum(each.numel() for each in self.weights.values() if hasattr(each, "numel"))
        lines = [
            f"Step {count(self.step)}: {facts['what']}",
            f"  kept      {len(facts['micro_batches'])} micro-batch{'es' * (len(facts['micro_batches']) != 1)}, "
            f"{count(parameters)} numbers of weights and buffers, "
            f"{plural(len(facts['optimizers']), 'optimizer')}",
            f"  made with torch {facts['numerics']['torch']} on {facts['numerics']['device']}"
            + (f", commit {facts['environment']['git_commit'][:10]}" if "git_commit" in facts["environment"] else ""),
        ]
        lines += [f"  left out  {each}" for each in facts["left_out"]]
        lines += [f"  at        {each}" for each in facts["stack"][-1:]]
        return "\n".join([*lines, f"  Try: bedside replay {self.folder} --script train.py"])


def load(path: str | os.PathLike[str]) -> Incident:
    """The incident in this folder; of a run's folder its first one."""
    folder = find(Path(path))
    return Incident(folder, *read(folder))
