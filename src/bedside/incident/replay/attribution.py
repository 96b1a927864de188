"""Which samples of a batch: each one's exact share of the loss and of the gradient, from the same forward pass.

The forward runs once over the whole batch, so that batch norm and dropout are what they were. Then each row of the
output gets its own loss. If these add up to the loss of the batch, the shares are exact: of the loss, and of the
gradient as the part of it that points along the whole one, which add up to one as well. If they do not add up, nothing
is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.incident.replay.kept_batch import KeptBatch, KeptLoss
from bedside.training.batches import named_tensors, rows_in, take_rows
from bedside.training.nonfinite.values import is_finite
from bedside.training.step import Training

MAX_BACKWARDS = 256  # one for each sample whose gradient is looked at: those with the largest losses
MAX_PARTS = 64  # of a batch that are run to find the rows that spoil it: enough for five among a few hundred
AGREES = 1e-4  # relative: the order of a sum in float32
IGNORED = -100  # the label that torch's losses leave out


@dataclass(frozen=True)
class Sample:
    """One row of the batch."""

    row: int
    name: str  # with its index in the data set, where that is known
    loss: float  # its own
    loss_share: float
    gradient_share: float | None  # None: not looked at


def shares(training: Training, loss: KeptLoss, batch: KeptBatch) -> list[Sample]:
    """The samples, largest share of the gradient first; none where the loss is not a sum over rows."""
    with training.autocast():
        output = _output(loss, batch)
        losses = row_losses(loss, output, batch)
        whole = loss.loss_of(output, batch)
    if not losses or not is_finite(whole):
        return []
    weights = _weights(losses, whole.item(), batch)
    if weights is None:
        return []
    parts = [each * weight for each, weight in zip(losses, weights, strict=True)]
    of_loss = [part.item() / whole.item() if whole.item() else math.nan for part in parts]
    order = sorted(range(len(parts)), key=lambda row: -abs(of_loss[row]))[:MAX_BACKWARDS]
    of_gradient = _gradient_shares([parts[row] for row in order], whole, _trainable(training))
    found = dict(zip(order, of_gradient, strict=True))
    samples = [
        Sample(row, batch.sample(row), losses[row].item(), of_loss[row], found.get(row)) for row in range(len(parts))
    ]
    return sorted(samples, key=lambda each: -abs(each.gradient_share or 0.0))


def bad_rows(training: Training, loss: KeptLoss, batch: KeptBatch) -> list[int]:
    """The rows that make the step non-finite: by their inputs, their own loss, or the gradient of it."""
    if rows := rows_not_finite((batch.inputs, batch.keywords, batch.target), batch.rows):
        return rows
    with training.autocast():
        output = _output(loss, batch)
        losses = row_losses(loss, output, batch)
    if rows := [row for row, own in enumerate(losses) if not is_finite(own)]:
        return rows
    trainable = _trainable(training)
    found = []
    for row, own in enumerate(losses[:MAX_BACKWARDS]):
        gradients = torch.autograd.grad(own, trainable, retain_graph=True, allow_unused=True)
        if not all(is_finite(each) for each in gradients if each is not None):
            found.append(row)
    return found


def by_halving(rows: Sequence[int]) -> Generator[list[int], bool, list[int]]:
    """The rows that spoil a batch, found by running parts of it: yields the rows to run next, and is sent whether that
    was finite. For batches whose rows cannot be separated from outside, because batch norm mixes them."""
    sound: list[int] = []
    spoilt: list[int] = []
    waiting = [list(rows)]
    for _ in range(MAX_PARTS):
        if not waiting:
            return sorted(spoilt)
        part = waiting.pop(0)
        # One row alone is what batch norm refuses, so it gets one for company that is known to be sound.
        if (yield part if len(part) > 1 else [*part, *sound[:1]]):
            sound += part
        elif len(part) == 1:
            spoilt += part
        else:
            waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
    return []


def row_losses(loss: KeptLoss, output: Any, batch: KeptBatch) -> list[Tensor]:
    """Each row's own loss, with its graph; none where the output has no row for each sample."""
    rows = batch.rows
    if rows < 1 or rows_in(output) != rows:
        return []
    try:
        return [loss.loss_of(take_rows(output, [row]), batch.only([row])) for row in range(rows)]
    except Exception:  # a loss function of the user's that wants more than one sample
        return []


def _output(loss: KeptLoss, batch: KeptBatch) -> Any:
    if batch.random is not None:
        batch.random.restore()
    return loss.output(loss.placed(batch))


def _weights(losses: Sequence[Tensor], whole: float, batch: KeptBatch) -> list[float] | None:
    """How the loss is made of its rows: a mean, a sum, or a mean over all labels that count; None: in no such way."""
    rows = len(losses)
    candidates = [[1 / rows] * rows, [1.0] * rows]
    target = batch.target
    if isinstance(target, Tensor) and not target.is_floating_point() and target.ndim and target.shape[0] == rows:
        counted = (target != IGNORED).reshape(rows, -1).sum(1).tolist()
        candidates.append([each / max(sum(counted), 1) for each in counted])
    values = [each.item() for each in losses]
    for weights in candidates:
        parts = [weight * (value if weight else 0.0) for weight, value in zip(weights, values, strict=True)]
        if abs(sum(parts) - whole) <= AGREES * max(sum(map(abs, parts)), abs(whole), 1e-30):
            return weights
    return None


def _gradient_shares(parts: Sequence[Tensor], whole: Tensor, trainable: Sequence[Tensor]) -> list[float]:
    def flat(loss: Tensor) -> Tensor:
        found = torch.autograd.grad(loss, trainable, retain_graph=True, allow_unused=True)
        pairs = zip(trainable, found, strict=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1).double() for p, g in pairs])

    total = flat(whole)
    size = float(total @ total)
    return [float(flat(part) @ total) / size if size else math.nan for part in parts]


def _trainable(training: Training) -> list[Tensor]:
    return [each for each in training.model.parameters() if each.requires_grad]


def rows_not_finite(values: Any, rows: int) -> list[int]:
    found: set[int] = set()
    for _, tensor in named_tensors(values):
        if tensor.ndim and tensor.shape[0] == rows and tensor.is_floating_point():
            found |= set(torch.nonzero(~torch.isfinite(tensor).reshape(rows, -1).all(1)).reshape(-1).tolist())
    return sorted(found)
