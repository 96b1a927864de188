"""Is this the same step? The same model, versions, device and precision; any difference is refused or reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from bedside.errors import BedsideError
from bedside.incident.numeric_settings import mismatches
from bedside.incident.replay.kept_batch import KeptBatch
from bedside.incident.serialisation import LeftOut
from bedside.wording import count, listed

if TYPE_CHECKING:
    from bedside.incident.incident import Incident


class CannotReplay(BedsideError):
    """The step cannot be run again here as it was."""


def replayable_batches(incident: Incident) -> list[KeptBatch]:
    batches = incident.micro_batches
    left_out = [each for each in incident.facts["left_out"] if each.startswith(("batches", "weights"))]
    if not batches or left_out:
        why = left_out[0] if left_out else "no forward of the model was recorded in this step"
        raise CannotReplay(
            f"Step {count(incident.step)} cannot be run again: {why}.",
            expected="an incident with its batches and weights",
            try_="bedside.watch(model, optimizer, black_box=BlackBox(max_bytes=20_000_000_000))",
        )
    return batches


def refuse_another(incident: Incident, model: nn.Module, anyway: bool) -> list[str]:
    """Notes on what is not as it was; an error where that makes it another step."""
    weights = incident.weights
    here = dict([*model.named_parameters(), *model.named_buffers()])
    wrong = [
        f"{name} is {_shape(here.get(name))} and was {_shape(weights.get(name))}"
        for name in sorted(set(weights) | set(here))
        if _shape(here.get(name)) != _shape(weights.get(name))
    ]
    if wrong:
        raise CannotReplay(
            f"The model is not the one of the incident: {listed(wrong, 3)}.",
            expected=f"the same architecture and precision, {len(weights)} tensors by the same names",
            try_="the model as the script built it, before any change of dtype or layers",
        )
    facts = incident.facts
    differs = mismatches(facts["numerics"], model)
    if differs and not anyway:
        raise CannotReplay(
            f"The step cannot be repeated bit for bit here: {'; '.join(differs)}.",
            expected="the same versions, device and precision as then",
            try_="the environment of the run, or incident.replay(model, loss_fn, anyway=True)",
        )
    notes = [f"Not bit for bit: {each}." for each in differs]
    if any(batch.random is None for batch in incident.micro_batches):
        notes.append("The model was compiled, so random numbers are not those of then; dropout differs.")
    if facts["redacted"]:
        notes.append("The batch was redacted before it was saved, so this is not the step as it was.")
    if facts["changed_in_place"]:
        notes.append(
            f"Changed in place after the forward began, so not as it was: {listed(facts['changed_in_place'])}."
        )
    gone = [at for batch in incident.micro_batches for at, value in _left_out(batch)]
    return notes + ([f"Not saved, and so not given to the model: {listed(gone)}."] if gone else [])


def _left_out(batch: KeptBatch) -> Iterator[tuple[str, Any]]:
    values = {**{f"inputs[{i}]": each for i, each in enumerate(batch.inputs)}, **batch.keywords, "target": batch.target}
    return ((at, each) for at, each in values.items() if isinstance(each, LeftOut))


def _shape(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        return "absent"
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
