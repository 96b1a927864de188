"""Does a step give the same result twice? The same batch, weights and random numbers, forward and backward, repeated.

The same result every time means that whatever went wrong comes from the data or the code, and can be hunted at leisure.
Different results mean non-deterministic operations, state outside the model, or hardware that computes wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bedside.lab.experiment_result import Result
from bedside.lab.recording import experiment
from bedside.lab.session import Session, session
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import listed, number


@dataclass(frozen=True)
class Rerun(Result):
    """What stayed the same and what did not, over all repeats."""

    experiment = "rerun"
    same: bool
    repeats: int
    losses: tuple[float, ...]
    different: tuple[str, ...]  # parameters whose gradients were not bitwise the same
    largest_difference: float  # relative to the gradient's own norm
    deterministic_agrees: bool | None  # the same under torch.use_deterministic_algorithms; None if not tried

    def __bool__(self) -> bool:
        return self.same

    def lines(self) -> Iterator[str]:
        if self.same:
            yield f"The step gives bitwise the same result {self.repeats} times: look at the data and the code."
            yield f"  loss {number(self.losses[0])}"
            return
        yield f"The step does not repeat: {len(set(self.losses))} different losses in {self.repeats} repeats."
        yield f"  losses {listed([number(each, 6) for each in self.losses])}"
        if self.different:
            size = number(self.largest_difference)
            yield f"  gradients differ, by up to {size} of their norm: {listed(self.different)}"
        if self.deterministic_agrees:
            yield "  With torch.use_deterministic_algorithms(True) it repeats: a non-deterministic operation."
        else:
            yield "  State outside the model (a counter, a cache, the clock), or hardware that computes wrong."


@experiment
def rerun(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    *,
    batch: int = 0,
    repeats: int = 3,
    forward: Forward | None = None,
    loop: Loop | None = None,
) -> Rerun:
    """Repeat the forward and backward of batch number `batch` and compare bit by bit."""
    with session(model, loader, loss_fn, forward=forward, loop=loop) as at:
        at.training.train_mode()
        data = at.training.batches[batch]
        runs = [_run(at, data) for _ in range(max(2, repeats))]
        same = all(_same(runs[0], each) for each in runs[1:])
        agrees = None if same else _deterministic(at, data)
    names = [name for name, _ in model.named_parameters()]
    different, largest = _differences(names, runs)
    return Rerun(same, len(runs), tuple(float(loss) for loss, _ in runs), different, largest, agrees)


Step = tuple[Tensor, list[Tensor | None]]


def _run(at: Session, data: Any) -> Step:
    at.rewind()
    at.training.train_mode()
    loss = at.training.batch_loss(data)
    if loss.requires_grad:
        loss.backward()
    gradients = [None if each.grad is None else each.grad.detach().clone() for each in at.training.model.parameters()]
    return loss.detach().clone(), gradients


def _same(one: Step, other: Step) -> bool:
    pairs = zip([one[0], *one[1]], [other[0], *other[1]], strict=True)
    return all(_bitwise(a, b) for a, b in pairs)


def _bitwise(a: Tensor | None, b: Tensor | None) -> bool:
    if a is None or b is None:
        return a is b
    if a.layout is not torch.strided:
        a, b = a.to_dense(), b.to_dense()
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def _differences(names: list[str], runs: list[Step]) -> tuple[tuple[str, ...], float]:
    different: list[str] = []
    largest = 0.0
    for number_, name in enumerate(names):
        first = runs[0][1][number_]
        others = [gradients[number_] for _, gradients in runs[1:]]
        if all(_bitwise(first, each) for each in others):
            continue
        different.append(name)
        for each in others:
            if first is not None and each is not None:
                size = float(torch.linalg.vector_norm(first.float())) or 1.0
                largest = max(largest, float(torch.linalg.vector_norm(first.float() - each.float())) / size)
    return tuple(different), largest


def _deterministic(at: Session, data: Any) -> bool:
    """Whether it repeats once torch may use deterministic algorithms only."""
    before, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    try:
        torch.use_deterministic_algorithms(True)
        return _same(_run(at, data), _run(at, data))
    except RuntimeError:  # an operation that has no deterministic form: that is the answer too
        return True
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
