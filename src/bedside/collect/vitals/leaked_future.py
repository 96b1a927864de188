"""Does a next-token model see the next token? One token of one sequence is changed, and nothing before it may change.

Where the target is the input moved by one (found from the batch and from what the loss function got), the answer at a
position may depend on what stands up to there and on nothing later. That is tried once, some steps into the run, when
branches that begin at zero have opened: the batch goes through copies of the model, the second time with one token
changed, from the same state and random numbers (`probes.py`). In a causal model the answers at earlier positions are
the same to the last bit.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.stored import stored
from bedside.collect.probes import not_probed
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import floating_in, tensors_in
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed
from bedside.training.model_copy import NotCopied

LOSSES = ("cross_entropy", "nll_loss")
MAX_LOOKS = 3  # batches after which it is known whether the task is next-token prediction
FIRST_STEP = 10  # steps before the trial: branches that are initialised with zeros pass nothing on at first
MIN_LENGTH = 4  # tokens of a sequence
DIFFERENT = 0.1  # of neighbouring tokens: of equal ones nobody can tell by how much the target is moved
ANSWERED = 0.25  # of the positions have a target: the others are padding, or a prompt
SUMS = 64.0  # times the precision of float32, in which sums are made: more than another order of them makes
ROUNDING = 4.0  # times the precision in which the answers are given
BEYOND = 10.0  # times what changed in the sequences that were left alone


class LeakedFuture(Collector):
    """Finds out whether the task is next-token prediction, and if so tries once whether the model can see the next
    token."""

    name = "leaked future"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._forward: Forward | None = None
        self._target: tuple[Tensor, int] | None = None
        self._looks: list[PendingValue] = []
        self._looked = 0
        self._chosen: tuple[int, int] | None = None  # which tensor holds the tokens, and which axis is time
        self._tried: tuple[int, int, PendingValue] | None = None
        self._refused: list[Event] = []
        self._done = False

    def attach(self, step: int) -> None:
        self._due = not self._done and (self._looked < MAX_LOOKS or (self._chosen is not None and step >= FIRST_STEP))

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._forward, self._target = forward, None

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._forward is None or self._target is not None or function not in LOSSES:
            return
        if not isinstance(prediction, Tensor) or not prediction.requires_grad or prediction.dim() < 2:
            return
        if isinstance(target, Tensor) and not target.is_floating_point():
            self._target = (target.detach(), prediction.shape[1])

    def detach(self, step: int) -> None:
        self._due = False
        (forward, given), self._forward, self._target = (self._forward, self._target), None, None
        if forward is None or given is None or self._done:
            return
        target, classes = given
        tokens = token_tensors(forward)
        if self._looked < MAX_LOOKS:
            self._looked += 1
            if found := next_token_verdicts(tokens, target):
                self._looks.append(self.queue.put(torch.stack(found)))
        elif self._chosen is not None and self._chosen[0] < len(tokens):
            number, axis = self._chosen
            if lined_up(tokens[number], target, axis) is not None:
                self._done = True
                if not reads_the_answer_by_right(forward.module):
                    self._try(step, forward, tokens[number], target, axis, classes)

    def _try(self, step: int, forward: Forward, tokens: Tensor, target: Tensor, axis: int, classes: int) -> None:
        changed = copy.copy(forward)
        new, place = one_changed(tokens, target, axis)
        changed.args, changed.kwargs = exchanged((forward.args, forward.kwargs), tokens, new)
        try:
            outputs = self.context.probes.answers([forward, changed], _without_batch_statistics)
        except NotCopied as why:
            self._refused.append(not_probed(step, self.name, why))
            return
        before, after = (answers_in(each, tokens, classes) for each in outputs)
        if before is not None and after is not None:
            changes = differences(before.movedim(axis, 0), after.movedim(axis, 0), place)
            changes = changes * is_next_token(tokens, target, axis)
            self._tried = (step, tokens.shape[axis], self.queue.put(changes))

    def events(self) -> Iterable[Event]:
        refused, self._refused = self._refused, []
        yield from refused
        looks, self._looks = self._looks, []
        for pending in looks:
            verdicts = pending.numbers > 0
            if self._chosen is None and verdicts.sum() == 1:
                number = int(verdicts.argmax())
                self._chosen = (number // 2, number % 2)
            elif verdicts.sum() != 1:  # no such task, or two inputs that both could be meant
                self._done = True
        if self._tried is not None:
            (step, length, pending), self._tried = self._tried, None
            place, changed, largest, limit = (float(number) for number in pending.numbers)
            if changed:
                facts = {"position": int(place), "length": length, "changed": int(changed), "change": largest}
                yield Event(step, "future_seen", facts | {"rounding": limit}, time.time())


def token_tensors(forward: Forward) -> list[Tensor]:
    """What may be a batch of tokens: tables of integers."""
    whole = (torch.int64, torch.int32)
    given = tensors_in((forward.args, forward.kwargs))
    return [each for each in given if each.dtype in whole and each.dim() == 2 and _is_long(each)]


def _is_long(table: Tensor) -> bool:
    return max(table.shape) >= MIN_LENGTH and not is_freed(table)


def next_token_verdicts(tables: list[Tensor], target: Tensor) -> list[Tensor]:
    """For every table and either axis: whether the target is the table, moved by one along that axis."""
    found = []
    for number, table in enumerate(tables):
        twins = [each for each in tables[:number] if each.shape == table.shape]  # labels that are the inputs again
        new = torch.stack([(each != table).any() for each in twins]).all() if twins else None
        for axis in (0, 1):
            verdict = is_next_token(table, target, axis)
            found.append((verdict if new is None else verdict & new).double())
    return found


def is_next_token(table: Tensor, target: Tensor, axis: int) -> Tensor:
    wanted = lined_up(table, target, axis)
    if wanted is None:
        return torch.zeros((), dtype=torch.bool, device=table.device)
    tokens = table.movedim(axis, 0)
    answered = wanted >= 0
    right = ((wanted == tokens[1:]) | ~answered).all()
    apart = (tokens[1:] != tokens[:-1]).double().mean() >= DIFFERENT
    return right & apart & (answered.double().mean() >= ANSWERED)


def lined_up(table: Tensor, target: Tensor, axis: int) -> Tensor | None:
    """What each position but the last should tell, time first; None if the target has another size."""
    length = table.shape[axis]
    if length < MIN_LENGTH:
        return None
    for kept in (length, length - 1):
        shape = [kept if each == axis else size for each, size in enumerate(table.shape)]
        if target.numel() == shape[0] * shape[1]:
            return target.to(table.device).reshape(shape).movedim(axis, 0)[: length - 1]
    return None


def one_changed(table: Tensor, target: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The table with one token of its first sequence changed for another one of that sequence, and where. It is the
    last that is anybody's target: what is not may be padding, which nothing sees."""
    wanted = lined_up(table, target, axis)
    assert wanted is not None, "a target of another size"
    tokens = table.movedim(axis, 0)
    places = torch.arange(len(tokens), device=table.device)
    place = places[1:].where(wanted[:, 0] >= 0, 0).amax()
    here = places == place
    old = tokens[:, 0].where(here, 0).sum()
    other = tokens[:, 0][places.where((tokens[:, 0] != old) & (places < place), -1).argmax()]
    row = torch.where(here, other, tokens[:, 0])
    return torch.cat([row[:, None], tokens[:, 1:]], 1).movedim(0, axis).contiguous(), place


def differences(before: Tensor, after: Tensor, place: Tensor) -> Tensor:
    """Where the change was, how many answers before it are others now, by how much at most, and how much counts.

    What changes in the other sequences of the batch has another reason than the token: statistics over the batch, or
    sums in another order each time.
    """
    rounding = max(SUMS * torch.finfo(torch.float32).eps, ROUNDING * torch.finfo(before.dtype).eps)
    before, after = before.double(), after.double()
    by = (after - before).abs().amax(-1)
    others = by[:, 1:].amax() if by.shape[1] > 1 else by.new_zeros(())
    limit = torch.maximum(rounding * before.abs().amax(), BEYOND * others)
    earlier, by = torch.arange(len(by), device=by.device) < place, by[:, 0]
    return torch.stack([place.double(), (earlier & (by > limit)).sum().double(), by.where(earlier, 0.0).amax(), limit])


def answers_in(output: Any, table: Tensor, classes: int) -> Tensor | None:
    """The scores of every position, as (table's shape, classes); None unless exactly one tensor can be them."""
    whole = [(*table.shape, classes), (table.numel(), classes)]
    found = [each for each in floating_in(output) if tuple(each.shape) in whole]
    return found[0].reshape(whole[0]) if len(found) == 1 else None


def exchanged(value: Any, old: Tensor, new: Tensor) -> Any:
    """The same arguments with another tensor in the place of one."""
    if value is old:
        return new
    if type(value) in (list, tuple):
        return type(value)(exchanged(each, old, new) for each in value)
    if type(value) is dict:
        return {key: exchanged(each, old, new) for key, each in value.items()}
    return value


def reads_the_answer_by_right(module: nn.Module) -> bool:
    """Whether an encoder may read the whole of what the decoder is asked for, as in Hugging Face's models."""
    return bool(getattr(stored(module, "config"), "__dict__", {}).get("is_encoder_decoder", False))


def _without_batch_statistics(model: nn.Module) -> None:
    """They would carry the change to everybody, and hide by which way else it comes."""
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
