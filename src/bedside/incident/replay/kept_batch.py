"""A micro-batch that was read back, and how its loss is computed again.

The model gets exactly the arguments it was called with. The loss function gets the target that torch's loss function
was called with at the time, or the target in the loader's batch, or that whole batch, whichever it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.errors import BadOption
from bedside.incident.serialisation import unpack
from bedside.training.batches import map_tensors, rows_in, take_rows, to_device
from bedside.training.forward import BatchLoss, Forward, LossFunction, device_of
from bedside.training.random_state import RandomState


@dataclass
class KeptBatch:
    """What the model and the loss were given. Fields that hold tensors are found by whoever looks through a batch."""

    inputs: tuple[Any, ...]
    keywords: dict[str, Any]
    target: Any = None

    # No fields, so that the same tensors are not found twice.
    def __post_init__(self) -> None:
        self.loaded: Any = None
        self.calls = 1
        self.function = ""
        self.indices: Sequence[Any] | None = None
        self.random: RandomState | None = None
        self.loss: float | None = None
        self.autocast: Sequence[tuple[str, str]] = ()

    @property
    def rows(self) -> int:
        return rows_in((self.inputs, self.keywords, self.target))

    def only(self, rows: Sequence[int]) -> KeptBatch:
        """The same batch with these samples alone."""
        inputs, keywords, target = take_rows((self.inputs, self.keywords, self.target), rows)
        fewer = KeptBatch(inputs, keywords, target)
        vars(fewer).update({k: v for k, v in vars(self).items() if k not in ("inputs", "keywords", "target")})
        fewer.loaded = take_rows(self.loaded, rows)
        return fewer

    def copied(self) -> KeptBatch:
        """One that may be written into."""
        copy: KeptBatch = map_tensors(torch.clone, self)
        copy.loaded = map_tensors(torch.clone, self.loaded)
        return copy

    def sample(self, row: int) -> str:
        """What to call a row: its number, and its index in the data set where the loader could tell."""
        known = self.indices is not None and len(self.indices) == self.rows
        return f"row {row}" + (f" (index {self.indices[row]} of the data set)" if known and self.indices else "")


def kept_batch(tree: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> KeptBatch:
    """From what was saved."""
    calls = tree["calls"]
    first: Mapping[str, Any] = calls[0]  # a micro-batch begins with a call of the model
    kept = KeptBatch(*(unpack(each, tensors) for each in (first["args"], first["kwargs"], tree["target"])))
    kept.loaded = unpack(tree["batch"], tensors)
    kept.calls = len(calls)
    kept.function = tree["function"]
    kept.indices = unpack(tree["indices"], tensors)
    kept.random = None if tree["random"] is None else RandomState(**unpack(tree["random"], tensors))
    kept.loss = unpack(tree["loss"], tensors)
    kept.autocast = [(str(device), str(dtype)) for device, dtype in first["autocast"]]
    return kept


class KeptLoss(BatchLoss):
    """From a KeptBatch to its loss, as `training/forward.py` does it for a batch of a loader."""

    def __init__(
        self, model: nn.Module, loss_fn: LossFunction | None, forward: Forward | None, scale: float | None = None
    ) -> None:
        super().__init__(model, loss_fn, forward)
        self._given = forward
        self.scale = scale or 1.0  # of the loss, where a GradScaler multiplied it
        self.divisor = 1  # of the loss, where the loop divided it by the number of micro-batches

    def placed(self, batch: KeptBatch) -> KeptBatch:
        device = device_of(self.model)
        if device.type == "cpu":
            return batch
        placed: KeptBatch = map_tensors(lambda tensor: tensor.to(device), batch)
        placed.loaded = to_device(batch.loaded, device)
        return placed

    def output(self, batch: KeptBatch) -> Any:
        if self._given is None and batch.calls == 1:
            return self.model(*batch.inputs, **batch.keywords)
        if batch.loaded is None:
            raise BadOption(
                f"The model was called {batch.calls} times before the backward, and no loader's batch was kept.",
                expected="one call of the model, or a batch from a DataLoader together with forward=",
                try_="bedside.watch(submodule, optimizer, black_box=True) for the part that is called once",
            )
        return super().output(batch.loaded)

    def loss_of(self, output: Any, batch: KeptBatch) -> Tensor:
        if self.loss_fn is None and batch.function and isinstance(output, Tensor) and output.numel() > 1:
            loss: Tensor = getattr(F, batch.function)(output, batch.target)
        else:
            loss = super().loss_of(output, self._for_loss(batch))
        loss = loss / self.divisor if self.divisor != 1 else loss
        return loss * self.scale if self.scale != 1 else loss

    def target(self, batch: Any) -> Any:
        if not isinstance(batch, KeptBatch):
            return super().target(batch)
        return batch.target if batch.target is not None else super().target(batch.loaded)

    def _for_loss(self, batch: KeptBatch) -> Any:
        """What a loss function that asks for the batch gets; one that asks for the target gets it by `target`."""
        if self._wants_target or self.loss_fn is None:
            return batch
        if batch.loaded is not None:
            return batch.loaded
        return (*batch.inputs, *batch.keywords.values(), batch.target)


def autocast_of(batch: KeptBatch, model: nn.Module) -> torch.dtype | None:
    """The dtype of the autocast region on the model's kind of device, if it was called in one."""
    names = dict(batch.autocast)
    dtype = names.get(device_of(model).type)
    return getattr(torch, dtype) if dtype is not None else None
