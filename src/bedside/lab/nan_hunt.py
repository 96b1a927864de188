"""Where the first NaN or Inf comes from: the module, the operation, your line of code, and the likely reason.

Two stages. While training is repeated from here, every module's output is checked, which costs about a tenth of a
step. At the first step whose loss or gradient is not finite, the same forward runs once more (same weights, batch and
random numbers) with every operation inside the guilty module checked, and for a bad backward every node of its graph.
The first operation that made a non-finite number out of finite ones is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.lab.backward_nodes import first_bad_node, with_lines
from bedside.lab.module_check import BadModule, ModuleCheck, operations_inside, tensors_in
from bedside.lab.nan_sources import BAD_INPUT, BAD_WEIGHTS, IN_PLACE, UNKNOWN, Source, likely_source
from bedside.lab.nonfinite import Statistics, all_finite, is_finite, statistics
from bedside.lab.operators import CheckOperations, Operation
from bedside.lab.progress import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.result import Result
from bedside.lab.session import Session, session
from bedside.training.batches import named_tensors
from bedside.training.forward import Forward, LossFunction
from bedside.training.random_state import save_random_state
from bedside.training.saved import Restore, save
from bedside.training.step import Loop, Training
from bedside.wording import listed, plural


@dataclass(frozen=True)
class NanHunt(Result):
    """The first non-finite number; true if one was found."""

    experiment = "nan_hunt"
    found: bool
    step: int  # of the hunt, from 0: where it was found, or how many were looked at
    moment: str  # input, weights, forward, loss, backward, optimizer; "" if nothing was found
    module: str  # path of the module, "" for the model itself or the loss function
    operator: str  # as torch calls it
    line: str  # of the user's code
    operands: tuple[Statistics, ...]
    result: Statistics | None
    source: Source | None

    def __bool__(self) -> bool:
        return self.found

    def lines(self) -> Iterator[str]:
        if not self.found or self.source is None:
            yield f"All values are finite over {plural(self.step, 'step')}: loss, gradients and weights."
            return
        yield f"Step {self.step}, {self.moment}: {self.source.cause} ({self.source.name})."
        if self.operator:
            where = self.module or ("the loss function" if self.moment == "loss" else "the model itself")
            yield f"  operation {self.operator} in {where}"
        elif self.module:
            yield f"  in {self.module}"
        if self.line:
            yield f"  line      {self.line}"
        yield from (f"  given     {each}" for each in self.operands)
        if self.result is not None:
            yield f"  made      {self.result}"
        yield f"  Try: {self.source.cure}"


@experiment
def nan_hunt(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    steps: int = 1,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> NanHunt:
    """Repeat the training from here for up to `steps` steps and name the first operation that goes wrong.

    Args:
        optimizer: With one, steps are taken, so that a NaN which needs some steps to appear can be reached; without,
            each batch is looked at with the present weights.
    """
    with session(model, loader, loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.train_mode()
        if bad := _bad_weights(model):
            return NanHunt(True, 0, "weights", listed(bad), "", "", (), None, BAD_WEIGHTS)
        check = ModuleCheck(model)
        with check.attached():
            for step in shown(range(steps), "hunting", show=progress):
                if (answer := _step(at, check, step)) is not None:
                    return answer
    return NanHunt(False, steps, "", "", "", "", (), None, None)


def _step(at: Session, check: ModuleCheck, step: int) -> NanHunt | None:
    """One step under the first stage; what was found, if anything was."""
    training, share = at.training, at.training.loop.accumulate
    at.state.clear_gradients()
    for micro in range(share):
        number = step * share + micro
        batch = training.batches[number]
        if bad := [(where, each) for where, each in named_tensors(batch) if not is_finite(each)]:
            stats = tuple(statistics(each) for _, each in bad)
            return NanHunt(True, step, "input", listed([where for where, _ in bad]), "", "", stats, None, BAD_INPUT)
        rewind = _here(training.model)
        try:
            check.begin()
            loss = training.batch_loss(batch)
            if not is_finite(loss) or not loss.requires_grad:
                return (
                    _forward_hunt(training, number, list(check.guilty), rewind, step) if not is_finite(loss) else None
                )
            loss.backward()
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            return _in_place(step, str(error))
        if not all_finite(each.grad for each in training.model.parameters() if each.grad is not None):
            return _backward_hunt(training, number, rewind, step)
    if training.optimizer is not None:
        training.optimizer.step()
        if bad_names := _bad_weights(training.model):
            cause = Source(
                "exploding",
                "finite gradients, but the optimizer's step made weights that are not finite",
                BAD_WEIGHTS.cure,
            )
            return NanHunt(True, step, "optimizer", listed(bad_names), "", "", (), None, cause)
    return None


def _forward_hunt(
    training: Training, number: int, guilty: list[BadModule], rewind: list[Restore], step: int
) -> NanHunt:
    """Second stage: the operations inside the guilty module, or in the loss function if no module is guilty."""
    for bad in guilty:
        _again(rewind)
        with operations_inside(bad) as (check, returned), torch.enable_grad():
            training.batch_loss(training.batches[number])
        ends = [each for each in tensors_in(returned) if not is_finite(each)]
        if operation := check.producer(ends[0] if ends else None):
            return _answer(step, "forward", bad.name, operation)
    _again(rewind)
    check = CheckOperations()
    batch = training.loss.placed(training.batches[number])
    with training.autocast():
        output = training.loss.output(batch)
        with check:
            training.loss.loss_of(output, batch)
    if operation := check.producer():
        return _answer(step, "loss", "", operation)
    _again(rewind)
    with check, training.autocast():
        training.loss(training.batches[number])
    if operation := check.producer():
        return _answer(step, "forward", guilty[0].name if guilty else "", operation)
    return NanHunt(True, step, "forward", guilty[0].name if guilty else "", "", "", (), None, UNKNOWN)


def _backward_hunt(training: Training, number: int, rewind: list[Restore], step: int) -> NanHunt:
    _again(rewind)
    names = [
        name for name, each in training.model.named_parameters() if each.grad is not None and not is_finite(each.grad)
    ]
    for each in training.model.parameters():
        each.grad = None
    with with_lines():
        operation = first_bad_node(training.batch_loss(training.batches[number]))
    if operation is None:
        return NanHunt(True, step, "backward", listed(names), "", "", (), None, UNKNOWN)
    return replace(
        _answer(step, "backward", "", operation), module=f"the backward pass; bad gradients in {listed(names)}"
    )


def _answer(step: int, moment: str, module: str, operation: Operation) -> NanHunt:
    backward = moment == "backward"
    source = likely_source(operation.name, operation.operands, operation.result, backward=backward, line=operation.line)
    return NanHunt(
        True, step, moment, module, operation.name, operation.line, operation.operands, operation.result, source
    )


def _in_place(step: int, message: str) -> NanHunt:
    told = message.partition("modified by an inplace operation")[2].partition("Hint")[0].strip(" :;.")
    source = replace(IN_PLACE, cause=f"{IN_PLACE.cause}: {told}")
    return NanHunt(True, step, "backward", "", "", "", (), None, source)


def _bad_weights(model: nn.Module) -> list[str]:
    tensors: list[tuple[str, Tensor]] = [*model.named_parameters(), *model.named_buffers()]
    return [name for name, each in tensors if not is_finite(each)]


def _here(model: nn.Module) -> list[Restore]:
    """The way back to the beginning of a forward: random numbers and buffers; weights do not move before the step."""
    return [save_random_state(), *(save(each) for each in model.buffers())]


def _again(rewind: list[Restore]) -> None:
    for restore in rewind:
        restore()
