"""Which parameters and buffers hold NaN or Inf, by name, with how many and where the first one is.

>>> import torch
>>> from bedside import lab
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
>>> with torch.no_grad():
...     _ = model[0].weight[1, 2].fill_(float("nan"))
>>> print(lab.find_nan(model))
1 of 7 tensors is not finite:
  parameter 0.weight: 1 NaN of 16, the first at [1, 2]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bedside.lab.experiment_result import Result
from bedside.lab.recording import experiment
from bedside.training.nonfinite.values import is_finite, readable_values, statistics
from bedside.wording import count


@dataclass(frozen=True)
class BadTensor:
    """One tensor of the model that is not finite."""

    kind: str  # parameter, buffer or gradient
    name: str
    nan: int
    inf: int
    size: int
    first: tuple[int, ...]  # index of the first entry that is not finite

    def __str__(self) -> str:
        bad = " and ".join(f"{count(many)} {what}" for many, what in ((self.nan, "NaN"), (self.inf, "Inf")) if many)
        return f"{self.kind} {self.name}: {bad} of {count(self.size)}, the first at {list(self.first)}"


@dataclass(frozen=True)
class NanReport(Result):
    """Every tensor of the model that is not finite; false if there is none."""

    experiment = "find_nan"
    tensors: tuple[BadTensor, ...]
    examined: int

    def __bool__(self) -> bool:
        return bool(self.tensors)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.tensors]

    def lines(self) -> Iterator[str]:
        if not self.tensors:
            yield f"All {count(self.examined)} parameters, buffers and gradients are finite."
            return
        verb = "is" if len(self.tensors) == 1 else "are"
        yield f"{len(self.tensors)} of {count(self.examined)} tensors {verb} not finite:"
        yield from (f"  {each}" for each in self.tensors)


@experiment
def find_nan(model: nn.Module) -> NanReport:
    """Look through every parameter, buffer and present gradient of the model."""
    named = [("parameter", name, each) for name, each in model.named_parameters()]
    named += [("buffer", name, each) for name, each in model.named_buffers()]
    named += [("gradient", name, each.grad) for name, each in model.named_parameters() if each.grad is not None]
    bad = tuple(_described(kind, name, tensor) for kind, name, tensor in named if not is_finite(tensor))
    return NanReport(bad, len(named))


def _described(kind: str, name: str, tensor: Tensor) -> BadTensor:
    stats = statistics(tensor)
    values = readable_values(tensor)
    assert values is not None  # it is not finite, so it has values
    first = torch.nonzero(~torch.isfinite(values))[0].tolist()
    return BadTensor(kind, name, stats.nan, stats.inf, tensor.numel(), tuple(first))
