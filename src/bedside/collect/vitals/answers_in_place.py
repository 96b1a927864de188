"""Compares tokens with targets: is the target the token itself, and how much of the target is padding?

A language model whose targets were not moved by one, or a masked one whose input was never masked, is asked for the
very token it is given at that place. And where padding is not left out of the loss, most of what is learned may be to
answer padding: the one target that goes with the one padding token. The first sampled batches show both.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.leaked_future import token_tensors
from bedside.record.run import Event

MAX_LOOKS = 3  # batches: all must agree
LOSSES = ("cross_entropy", "nll_loss")
OTHERS = 0.01  # of the padding: a symbol that also ends lines is followed by something else now and then


class AnswersInPlace(Collector):
    """Compares the tokens of the first sampled batches with the targets at the same places."""

    name = "answers in place"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._forward: Forward | None = None
        self._inside = False  # a forward is under way: a loss computed now gets its target as one of the inputs
        self._looked = 0
        self._waiting: list[tuple[int, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = self._looked < MAX_LOOKS

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._forward, self._inside = forward, True

    def forward_ended(self, output: Any) -> None:
        self._inside = False

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        forward = self._forward
        if forward is None or function not in LOSSES or not isinstance(prediction, Tensor):
            return
        if not isinstance(target, Tensor) or target.is_floating_point() or not prediction.requires_grad:
            return
        every = token_tensors(forward)
        tables = [table for table in every if table.numel() == target.numel()]
        if tables:
            self._due, self._forward = False, None
            self._looked += 1
            answers = target.detach().reshape(-1)
            given = tables[:1] if self._inside else tables  # a decoder has two, and may be given its own target
            both = torch.stack([compared(table.reshape(-1), answers, max(given[0].shape[0], 1)) for table in given])
            first = both[:1, 1] if given[0] is every[0] else both.new_zeros(1)
            self._waiting.append((self.context.step, self.queue.put(torch.cat([both.amax(0), first]))))

    def detach(self, step: int) -> None:
        self._due, self._forward = False, None

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, pending in waiting:
            asked, same, kinds, padded, first = (float(number) for number in pending.numbers)
            facts = {"asked": int(asked), "same": same, "kinds": int(kinds), "padded": padded}
            facts["beside"] = same > first  # another input than the first one: a decoder's target, beside the source
            yield Event(step, "answers_in_place", facts, time.time())


def compared(tokens: Tensor, answers: Tensor, rows: int) -> Tensor:
    """How many answers are asked for, the share that is the token itself, how many kinds of answer there are, and the
    share of padding: of the commonest answer, if it goes with one token and that token with hardly any other answer.
    Where the next token is asked for, the last word of a row has that answer too: once in each of the `rows`.

    >>> words = torch.tensor([[5, 6, 7, 0, 0, 0], [4, 3, 0, 0, 0, 0]])
    >>> compared(words[:, :-1].reshape(-1), words[:, 1:].reshape(-1), 2)[3].item()
    0.7
    """
    tokens = tokens.to(answers.device)
    asked = answers >= 0
    count = asked.sum().clamp(min=1).double()
    same = (asked & (tokens == answers)).sum() / count
    ordered = answers.where(asked, -1).sort().values
    kinds = (ordered[1:] != ordered[:-1]).sum() + 1 - (~asked).any().long()
    commonest = answers.where(asked, answers.where(asked, -1).amax()).mode().values
    here = asked & (answers == commonest)
    token = torch.where(here, tokens, tokens.where(here, -1).amax()).mode().values
    strays = (here & (tokens != token)).sum()
    others = (asked & (tokens == token) & ~here).sum()
    few = OTHERS * here.sum()
    is_pair = (others <= few) & (strays <= rows + few) & (2 * strays < here.sum())
    padded = torch.where(is_pair, here.sum() / count, torch.zeros_like(count))
    return torch.stack([asked.sum().double(), same, kinds.double(), padded])
