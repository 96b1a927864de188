"""Does a model that tells every number from those before it see the number itself?

Where the target is the input, a model either passes it through something narrow (an autoencoder), or tells each number
from the others: pixel after pixel, sample after sample, through masks. Then the answer at a place may depend on what
comes before, and not on that very place. That is tried once, some steps into the run: the batch goes through copies of
the model, the second time with one number of one sample changed (`probes.py`). In an autoencoder all answers change; in
a model that reads in order none before the place does, and the one at the place may not either.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.probes import not_probed
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import floating_in
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.leaked_future import FIRST_STEP, exchanged
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed
from bedside.training.model_copy import NotCopied

LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
)
MIN_PLACES = 8  # of a sample
PLACE = 0.6  # of the way through a sample: enough places before, some behind
ROUNDING = 1e-6  # of the largest answer


class OwnPlace(Collector):
    """Finds out whether the target is the input, and if so tries once whether each place sees itself."""

    name = "own place"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._forward: Forward | None = None
        self._same: PendingValue | None = None  # whether the first target was the input
        self._chosen = self._done = False
        self._tried: list[tuple[int, int, PendingValue]] = []
        self._refused: list[Event] = []

    def attach(self, step: int) -> None:
        self._due = not self._done and (step >= FIRST_STEP if self._chosen else self._same is None)

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._forward = forward

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        forward, self._forward = self._forward, None
        if forward is None or function not in LOSSES or not isinstance(target, Tensor):
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or is_freed(batch) or not batch.is_floating_point() or batch.dim() < 2 or len(batch) < 2:
            return
        if batch.shape != target.shape or batch[0].numel() < MIN_PLACES or target.requires_grad:
            return
        self._due = False
        if self._chosen:
            self._done = True
            self._try(forward, batch)
        else:
            self._same = self.queue.put((target.detach() == batch.detach()).all().double().reshape(1))

    def _try(self, forward: Forward, batch: Tensor) -> None:
        given = batch.detach().clone()
        places = given[0, 0] if given.dim() == 4 else given[0]  # of a picture: all channels are one place
        place = int(PLACE * places.numel())
        old = places.reshape(-1)[place]
        new = torch.where(old > (given.amax() + given.amin()) / 2, given.amin(), given.amax())
        flat = given[0].flatten(1)[:, place] if given.dim() == 4 else given[0].view(-1)[place : place + 1]
        flat.copy_(new.expand_as(flat))
        changed = copy.copy(forward)
        changed.args, changed.kwargs = exchanged((forward.args, forward.kwargs), batch, given)
        try:
            outputs = self.context.probes.answers([forward, changed], nn.Module.eval)
        except NotCopied as why:
            self._refused.append(not_probed(self.context.step, self.name, why))
            return
        before, after = (next((t for t in floating_in(each) if t.shape == batch.shape), None) for each in outputs)
        if before is not None and after is not None:
            self._tried.append((self.context.step, place, self.queue.put(differences(before, after, place))))

    def detach(self, step: int) -> None:
        self._due, self._forward = False, None

    def events(self) -> Iterable[Event]:
        refused, self._refused = self._refused, []
        yield from refused
        if self._same is not None and not self._chosen and not self._done:
            self._chosen = bool(self._same.numbers[0])
            self._done = not self._chosen
        tried, self._tried = self._tried, []
        for step, place, pending in tried:
            earlier, own, scale = (float(number) for number in pending.numbers)
            if not earlier and own:
                yield Event(step, "own_place_seen", {"place": place, "change": own / max(scale, 1e-30)}, time.time())


def differences(before: Tensor, after: Tensor, place: int) -> Tensor:
    """How many answers before the place are others now, by how much the one at the place is, and how large answers are.

    >>> answers = torch.zeros(2, 6)
    >>> differences(answers, answers + torch.tensor([0.0, 0, 0, 3, 1, 0]), 3).tolist()[:2]
    [0.0, 3.0]
    """
    by = (after[0] - before[0]).abs().double()
    by = by.amax(0).reshape(-1) if by.dim() == 3 else by.reshape(-1)
    scale = torch.maximum(before.abs().amax(), after.abs().amax()).double()
    limit = ROUNDING * scale
    return torch.stack([(by[:place] > limit).sum().double(), by[place] * (by[place] > limit), scale])
