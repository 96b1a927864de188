"""What is wrong with the numbers of one batch, before a model sees them.

>>> import torch
>>> from bedside import lab
>>> x = torch.tensor([[0.5, float("nan")], [0.1, 2e6]])
>>> print(lab.validate_batch((x, torch.tensor([0, 3])), classes=3))
The batch has 3 problems:
  batch[0]: 1 NaN of 4, in rows 0
  batch[0]: the largest value is 2e6, beyond 100
  batch[1]: labels from 0 to 3, but there are 3 classes (0 to 2), in rows 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.lab.experiment_result import Result
from bedside.lab.recording import experiment
from bedside.training.batches import named_tensors, rows_in
from bedside.training.forward import TARGETS
from bedside.training.nonfinite.values import readable_values
from bedside.wording import count, listed, number

IGNORED = -100  # the label that torch's losses leave out


@dataclass(frozen=True)
class Limits:
    """Where a value stops being ordinary."""

    largest: float = 100.0  # published guidance: normalised inputs stay far below it


@dataclass(frozen=True)
class BatchProblem:
    """One thing that is wrong, and the rows it is wrong in."""

    where: str
    what: str
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f", in rows {listed(map(str, self.rows))}" if self.rows else "")


@dataclass(frozen=True)
class BatchReport(Result):
    """True if the batch is clean."""

    experiment = "validate_batch"
    problems: tuple[BatchProblem, ...]
    tensors: int
    rows: int

    def __bool__(self) -> bool:
        return not self.problems

    def lines(self) -> Iterator[str]:
        if not self.problems:
            yield f"The batch is clean: {self.rows} rows in {self.tensors} tensors, all finite and within range."
            return
        yield f"The batch has {len(self.problems)} problem{'s' if len(self.problems) > 1 else ''}:"
        yield from (f"  {each}" for each in self.problems)


@experiment
def validate_batch(batch: Any, *, classes: int | None = None, largest: float = Limits.largest) -> BatchReport:
    """Check every tensor of a batch of any shape.

    Args:
        batch: Whatever the loader yields: a tensor, tuple, dict, dataclass, BatchEncoding.
        classes: How many classes the labels may name; checks the range of whole-number targets.
        largest: Inputs beyond this magnitude are reported; whole numbers (token ids, labels) are exempt.
    """
    tensors = list(named_tensors(batch))
    rows = rows_in(batch)
    problems = [each for where, tensor in tensors for each in _problems(where, tensor, rows, largest)]
    if not tensors:
        problems.append(BatchProblem("batch", f"a {type(batch).__name__} without any tensor", ()))
    if classes is not None and (target := _labels(batch, tensors)) is not None:
        problems += _label_problems(*target, classes)
    return BatchReport(tuple(problems), len(tensors), rows)


def _problems(where: str, tensor: Tensor, rows: int, largest: float) -> Iterator[BatchProblem]:
    if not tensor.numel():
        yield BatchProblem(where, f"is empty (shape {list(tensor.shape)})", ())
        return
    values = readable_values(tensor)
    if values is None:
        return
    for what, bad in (("NaN", values.isnan()), ("Inf", values.isinf())):
        if many := int(bad.sum()):
            yield BatchProblem(where, f"{count(many)} {what} of {count(values.numel())}", _rows(bad, rows))
    size = values.abs().nan_to_num(0.0, posinf=0.0)
    if (top := float(size.max())) > largest:
        yield BatchProblem(where, f"the largest value is {number(top)}, beyond {number(largest)}", ())
    if values.numel() > 1 and rows > 1 and bool(torch.isfinite(values).all()) and float(values.min()) == top == 0:
        yield BatchProblem(where, "every value is zero", ())


def _labels(batch: Any, tensors: list[tuple[str, Tensor]]) -> tuple[str, Tensor] | None:
    """The whole-number tensor with a label's name, or the last one of a tuple."""
    whole = [(where, each) for where, each in tensors if not each.is_floating_point() and not each.is_complex()]
    named = [
        (where, each)
        for where, each in whole
        if any(f"'{name}'" in where or where.endswith(f".{name}") for name in TARGETS)
    ]
    if named:
        return named[0]
    return whole[-1] if whole and isinstance(batch, list | tuple) else None


def _label_problems(where: str, labels: Tensor, classes: int) -> Iterator[BatchProblem]:
    bad = ((labels < 0) | (labels >= classes)) & (labels != IGNORED)
    if bad.any():
        low, high = int(labels.min()), int(labels.max())
        what = f"labels from {low} to {high}, but there are {classes} classes (0 to {classes - 1})"
        yield BatchProblem(where, what, _rows(bad, len(labels)))


def _rows(bad: Tensor, rows: int) -> tuple[int, ...]:
    if not bad.ndim or bad.shape[0] != rows:
        return ()
    return tuple(torch.nonzero(bad.flatten(1).any(1) if bad.ndim > 1 else bad).flatten().tolist())
