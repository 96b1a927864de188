"""A linear model, a look-up of the nearest neighbours and a blind guess, tried on examples they were not fitted to.

Every example is answered by models that were fitted to all the others: for a ridge regression that costs no more than
one fit, because leaving an example out changes its answer by a factor that the fit knows. Only whole-table operations
are used, so that nothing waits for a device.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

RIDGES = (0.01, 0.1, 1.0)  # of the mean square of an example
NEIGHBOURS = 5
MOST_NEIGHBOURED = 1024  # examples: of more, all distances take longer than everything else
FARTHEST = 10.0  # spreads from the mean: one wild number in an example that is only tried must not be all there is


@dataclass(frozen=True)
class Examples:
    """A table of examples, what is asked of each, and which of them count."""

    table: Tensor  # a row for each
    wanted: Tensor  # a class for each, or a row of numbers
    counts: Tensor  # False where nothing is asked
    marks: Tensor  # a number for each: examples with the same one are copies
    classes: int = 0  # 0: numbers
    bits: bool = False  # numbers that are all 0 or 1
    places: bool = False  # of sequences or pictures
    raw: Tensor | None = None  # the columns as they are, if they are those of a table

    def __len__(self) -> int:
        return len(self.table)

    def goes_with(self, other: Examples) -> bool:
        alike = (self.classes, self.bits, self.places) == (other.classes, other.bits, other.places)
        return (
            alike and self.table.shape[1:] == other.table.shape[1:] and self.wanted.shape[1:] == other.wanted.shape[1:]
        )

    def targets(self) -> Tensor:
        if not self.classes:
            return self.wanted.double()
        return (self.wanted[:, None] == torch.arange(self.classes, device=self.wanted.device)).double()

    def distinct(self) -> Tensor:
        """Which of them count, copies left out."""
        ordered, order = self.marks.where(self.counts, torch.inf).sort()
        first = torch.ones_like(self.counts)
        first[order[1:]] = ordered[1:] != ordered[:-1]
        return first & self.counts

    def error(self, answers: Tensor, tried: Tensor) -> Tensor:
        """The share of wrong answers, or the squared error, over those that are tried."""
        if self.classes:
            off = (answers.argmax(1) != self.wanted).double()
        elif self.bits:
            off = ((answers > 0.5) != (self.wanted > 0.5)).double().mean(1)
        else:
            off = (answers - self.wanted.double()).square().mean(1)
        return (off * tried).sum() / tried.sum()


def together(parts: list[Examples], most: int) -> Examples:
    first = parts[0]
    table, wanted, counts, marks = (
        torch.cat([getattr(each, name) for each in parts])[:most] for name in ("table", "wanted", "counts", "marks")
    )
    raws = [each.raw for each in parts if each.raw is not None]
    alike = len(raws) == len(parts) and len({each.shape[1] for each in raws}) == 1
    raw = torch.cat(raws)[:most] if alike else None
    return Examples(table, wanted, counts, marks, first.classes, first.bits, first.places, raw)


def tried(examples: Examples) -> Tensor:
    """The errors of the linear model, of the nearest neighbours and of a blind guess, and of how many examples.

    >>> x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    >>> examples = Examples(x, x.sum(1, keepdim=True), torch.ones(400).bool(), marks_of(x))
    >>> linear, neighbours, guess, count = tried(examples).tolist()
    >>> linear < 0.01 * guess, neighbours < guess, int(count)
    (True, True, 400)
    """
    valid = examples.distinct()
    rows, _, _ = standardised(examples.table, valid)
    targets = examples.targets()
    middle = mean_of(targets, valid)
    apart = (targets - middle) * valid[:, None]
    linear = torch.stack([examples.error(middle + each, valid) for each in left_out(rows, apart)]).amin()
    guess = examples.error(middle.expand_as(targets), valid)
    neighbours = guess
    if len(rows) <= MOST_NEIGHBOURED:
        itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        nearest = distances(rows, rows).masked_fill(itself | ~valid, torch.inf).topk(NEIGHBOURS, largest=False).indices
        neighbours = examples.error(targets[nearest].mean(1), valid)
    return torch.stack([linear, neighbours, guess, valid.sum().double()])


def carried(fitted: Examples, others: Examples) -> Tensor:
    """The errors of a linear model and of the nearest neighbours of one set on another one.

    >>> x = torch.randn(300, 3, generator=torch.Generator().manual_seed(0))
    >>> counts = torch.ones(150, dtype=torch.bool)
    >>> one, other = (Examples(each, each.sum(1, keepdim=True), counts, marks_of(each)) for each in x.chunk(2))
    >>> bool(carried(one, other)[0] < 0.01)
    True
    """
    valid, new = fitted.distinct(), others.distinct()
    rows, mean, spread = standardised(fitted.table, valid)
    theirs = ((others.table.double() - mean) / spread).clamp(-FARTHEST, FARTHEST)
    targets = fitted.targets()
    middle = mean_of(targets, valid)
    apart = (targets - middle) * valid[:, None]
    linear = torch.stack([others.error(middle + theirs @ each, new) for each in weights(rows, apart)]).amin()
    if max(len(rows), len(theirs)) > MOST_NEIGHBOURED:
        return torch.stack([linear, linear])
    nearest = distances(theirs, rows).masked_fill(~valid, torch.inf).topk(NEIGHBOURS, largest=False).indices
    return torch.stack([linear, others.error(targets[nearest].mean(1), new)])


def standardised(table: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of mean 0 and spread 1 over those that count, the others zero; with that mean and spread."""
    rows, counts = table.double(), valid[:, None]
    mean = mean_of(rows, valid)
    spread = mean_of((rows - mean).square(), valid).sqrt().clamp(min=1e-6)
    return ((rows - mean) / spread * counts).clamp(-FARTHEST, FARTHEST), mean, spread


def mean_of(rows: Tensor, valid: Tensor) -> Tensor:
    return (rows * valid[:, None]).sum(0) / valid.sum().clamp(min=1)


def left_out(rows: Tensor, targets: Tensor) -> list[Tensor]:
    """What ridge regressions answer to each row that were fitted to all others, for each of the ridges."""
    answers = []
    if len(rows) <= rows.shape[1]:
        inside, eye = rows @ rows.T, torch.eye(len(rows), dtype=rows.dtype, device=rows.device)
        for ridge in RIDGES:
            inverse = torch.linalg.inv_ex(inside + ridge * size_of(rows) * eye).inverse
            answers.append(targets - inverse @ targets / inverse.diagonal()[:, None])
        return answers
    across, eye = rows.T @ rows, torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
    for ridge in RIDGES:
        inverse = torch.linalg.inv_ex(across + ridge * size_of(rows) * eye).inverse
        known = rows @ inverse
        off = targets - known @ (rows.T @ targets)
        answers.append(targets - off / (1 - (known * rows).sum(1, keepdim=True)).clamp(min=1e-6))
    return answers


def weights(rows: Tensor, targets: Tensor) -> list[Tensor]:
    """Of ridge regressions, for each of the ridges."""
    across, eye = rows.T @ rows, torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
    return [torch.linalg.solve_ex(across + ridge * size_of(rows) * eye, rows.T @ targets).result for ridge in RIDGES]


def size_of(rows: Tensor) -> Tensor:
    """The mean square of a row, of those that are not zero."""
    squares = rows.square().sum(1)
    return (squares.sum() / (squares > 0).sum().clamp(min=1)).clamp(min=1e-6)


def distances(some: Tensor, others: Tensor) -> Tensor:
    return some.square().sum(1, keepdim=True) + others.square().sum(1) - 2 * some @ others.T


def marks_of(table: Tensor) -> Tensor:
    """A number for every row, by which it is known again."""
    scale = torch.arange(2.0, 2.0 + table.shape[1], dtype=torch.float64, device=table.device).sqrt()
    return (table.double() * scale).sum(1)  # not a product of matrices, whose rounding depends on the place
