"""One micro-batch, and the first operation in it that made a non-finite number out of finite ones.

Two stages. First every module's output is checked, which costs about a tenth of a step. If the loss or a gradient is
not finite, the same forward runs once more (same weights, batch and random numbers) with every operation inside the
guilty module checked, and for a bad backward every node of its graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from bedside.training.batches import named_tensors
from bedside.training.nonfinite.backward_nodes import first_bad_node, with_lines
from bedside.training.nonfinite.module_check import BadModule, ModuleCheck, operations_inside, tensors_in
from bedside.training.nonfinite.operators import CheckOperations, Operation
from bedside.training.nonfinite.sources import BAD_INPUT, BAD_WEIGHTS, IN_PLACE, UNKNOWN, Source, likely_source
from bedside.training.nonfinite.values import Statistics, all_finite, is_finite, statistics
from bedside.training.random_state import save_random_state
from bedside.training.saved_values import Restore, save
from bedside.training.step import Training
from bedside.wording import listed


@dataclass(frozen=True)
class Culprit:
    """What made the first non-finite number."""

    moment: str  # input, weights, forward, loss, backward, optimizer
    module: str = ""  # path of the module, "" for the model itself or the loss function
    operator: str = ""  # as torch calls it
    line: str = ""  # of the user's code
    operands: tuple[Statistics, ...] = ()
    result: Statistics | None = None
    source: Source = UNKNOWN

    def lines(self, where: str) -> list[str]:
        """The answer first; `where` says which step it was."""
        lines = [f"{where}, {self.moment}: {self.source.cause} ({self.source.name})."]
        if self.operator:
            owner = self.module or ("the loss function" if self.moment == "loss" else "the model itself")
            lines.append(f"  operation {self.operator} in {owner}")
        elif self.module:
            lines.append(f"  in {self.module}")
        if self.line:
            lines.append(f"  line      {self.line}")
        lines += [f"  given     {each}" for each in self.operands]
        if self.result is not None:
            lines.append(f"  made      {self.result}")
        return [*lines, f"  Try: {self.source.cure}"]


def bad_weights(model: nn.Module) -> list[str]:
    """Names of the parameters and buffers that are not finite."""
    tensors: list[tuple[str, Tensor]] = [*model.named_parameters(), *model.named_buffers()]
    return [name for name, each in tensors if not is_finite(each)]


def already_bad(model: nn.Module) -> Culprit | None:
    """Weights that were not finite before the step."""
    names = bad_weights(model)
    return Culprit("weights", listed(names), source=BAD_WEIGHTS) if names else None


def bad_input(batch: Any) -> Culprit | None:
    """A batch that itself is not finite."""
    bad = [(where, each) for where, each in named_tensors(batch) if not is_finite(each)]
    if not bad:
        return None
    operands = tuple(statistics(each) for _, each in bad)
    return Culprit("input", listed([where for where, _ in bad]), operands=operands, source=BAD_INPUT)


def hunt(training: Training, number: int, check: ModuleCheck) -> Culprit | None:
    """Forward and backward of batch `number`, whose gradients stay; `check` is attached to the model."""
    batch = training.batches[number]
    if culprit := bad_input(batch):
        return culprit
    rewind = _here(training.model)
    try:
        check.begin()
        loss = training.batch_loss(batch)
        if not is_finite(loss):
            return _in_forward(training, number, list(check.guilty), rewind)
        if not loss.requires_grad:
            return None
        loss.backward()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return _in_place(str(error))
    if not all_finite(each.grad for each in training.model.parameters() if each.grad is not None):
        return _in_backward(training, number, rewind)
    return None


def _in_forward(training: Training, number: int, guilty: list[BadModule], rewind: list[Restore]) -> Culprit:
    """Second stage: the operations inside the guilty module, or in the loss function if no module is guilty."""
    for bad in guilty:
        _again(rewind)
        with operations_inside(bad) as (check, returned), torch.enable_grad():
            training.batch_loss(training.batches[number])
        ends = [each for each in tensors_in(returned) if not is_finite(each)]
        if operation := check.producer(ends[0] if ends else None):
            return answer("forward", bad.name, operation)
    _again(rewind)
    check = CheckOperations()
    batch = training.loss.placed(training.batches[number])
    with training.autocast():
        output = training.loss.output(batch)
        with check:
            training.loss.loss_of(output, batch)
    if operation := check.producer():
        return answer("loss", "", operation)
    _again(rewind)
    with check, training.autocast():
        training.loss(training.batches[number])
    module = guilty[0].name if guilty else ""
    if operation := check.producer():
        return answer("forward", module, operation)
    return Culprit("forward", module)


def _in_backward(training: Training, number: int, rewind: list[Restore]) -> Culprit:
    _again(rewind)
    names = [
        name for name, each in training.model.named_parameters() if each.grad is not None and not is_finite(each.grad)
    ]
    for each in training.model.parameters():
        each.grad = None
    with with_lines():
        operation = first_bad_node(training.batch_loss(training.batches[number]))
    if operation is None:
        return Culprit("backward", listed(names))
    return replace(answer("backward", "", operation), module=f"the backward pass; bad gradients in {listed(names)}")


def answer(moment: str, module: str, operation: Operation) -> Culprit:
    """In terms of the user's code, with the likely reason."""
    backward = moment == "backward"
    source = likely_source(operation.name, operation.operands, operation.result, backward=backward, line=operation.line)
    return Culprit(moment, module, operation.name, operation.line, operation.operands, operation.result, source)


def _in_place(message: str) -> Culprit:
    complaint = message.partition("modified by an inplace operation")[2].partition("Hint")[0].strip(" :;.")
    return Culprit("backward", source=replace(IN_PLACE, cause=f"{IN_PLACE.cause}: {complaint}"))


def _here(model: nn.Module) -> list[Restore]:
    """The way back to the beginning of a forward: random numbers and buffers; weights do not move before the step."""
    return [save_random_state(), *(save(each) for each in model.buffers())]


def _again(rewind: list[Restore]) -> None:
    for restore in rewind:
        restore()
