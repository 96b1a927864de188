"""What the plainest models make of the run's own examples: a linear one, and looking up the nearest neighbours.

A network that has settled and still answers its training examples worse than a straight line answers examples that it
has never seen is held back by something: frozen or badly begun layers, dropped units, a signal that is lost on the way.
So the first few hundred examples of the sampled batches are kept, and a ridge regression and a look-up of neighbours
are tried on each of them after they were fitted to the others; and on every sampled step the network's own error on its
batch is noted in the same unit: the share of wrong classes, or the squared error.

The same is done with examples of evaluations, and what was fitted to training examples is tried on those. That tells
whether the answer is in the held-out examples, whether it is the same answer, and whether the network finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.asked_examples import asked_examples, inputs_of
from bedside.collect.reading.coded_columns import as_numbers, fitted_to_codes
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.simple_fits import Examples, carried, together, tried
from bedside.collect.reading.squared_error_targets import targets_of_squared_error
from bedside.collect.vitals.inputs import first_input
from bedside.training.freed_tensors import is_freed

EXAMPLES = 512  # of either set: a share is known to 0.02 then
PLACES = 2048  # of sequences and pictures
MIN_TRIED = 64  # that are no copies of others
ROWS = 128  # of a batch: examples from four batches at least, unless one batch is so large that it stands for all
WHOLE = 2 * EXAMPLES  # examples of a batch that stands for all: at full batch there is no other
FIT_SECONDS = 0.1  # that fitting takes (measured: 20 to 90 ms): it waits until the run is long enough, or over
MAX_LOOKS = 200  # evaluations


class SimpleModels(Collector):
    """Keeps the first examples of either set, fits the simple models, and notes the network's own errors."""

    name = "simple models"
    vitals = ("fit_error", "held_out_error")

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._given: list[Tensor] = []  # to the forward of this step that is learned from,
        self._output: Tensor | None = None  # and what came of it, until the loss is made of it
        self._shown: list[Tensor] = []  # to a forward of an evaluation
        self._network: nn.Module | None = None  # that is trained: others are evaluated for reasons of their own
        self._kept, self._held_out = Kept(), Kept()
        self._errors: list[tuple[int, PendingValue]] = []
        self._asked = 0  # answers that a batch asks for
        self._looks = 0
        self._evaluation = -1  # the step before which it takes place
        self._answers: Tensor | None = None  # of this evaluation: errors times answers, and answers
        self._held_out_errors: list[tuple[int, PendingValue]] = []
        self._fitted: dict[str, tuple[Examples, PendingValue]] = {}
        self._noted: set[str] = set()
        self._table: PendingValue | None = None  # all training examples, if they are a table

    def attach(self, step: int) -> None:
        self._due = True

    def forward_begins(self, forward: Forward) -> None:
        evaluates = forward.validating or not forward.grad
        if evaluates and (forward.module is not self._network or self._looks >= MAX_LOOKS):
            return
        if not evaluates and not self._due:
            return
        first = first_input((forward.args, forward.kwargs))
        given = inputs_of((forward.args, forward.kwargs), first) if first is not None and first.dim() else []
        given = given if any(each.dim() > 1 for each in given) else []
        if evaluates:
            self._shown = given
            self._due = True  # to learn from, next: readings in training are far between when steps are quick
        else:
            self._given, self._network = given, forward.module

    def forward_ended(self, output: Any) -> None:
        if self._given and isinstance(output, Tensor) and output.requires_grad:
            self._output = output

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        output, self._output = self._output, None
        if self._given and output is not None:
            self.loss_computed("mse_loss", output, targets_of_squared_error(tensors, output))

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if not isinstance(prediction, Tensor):
            return
        if prediction.requires_grad:
            given, self._given = self._given, []
            if given and not any(map(is_freed, given)):
                self._learns(function, given, prediction, target)
        elif self._shown:
            shown, self._shown = self._shown, []
            if not any(map(is_freed, shown)):
                self._evaluates(function, shown, prediction, target)

    def _learns(self, function: str, given: list[Tensor], prediction: Tensor, target: Any) -> None:
        rows = EXAMPLES if len(given[0]) >= WHOLE else ROWS
        asked = asked_examples(given, function, prediction, target, rows, len(self._kept))
        if asked is not None:
            examples, error = asked
            self._due, self._asked = False, target.numel()
            self._errors.append((self.context.step, self.queue.put(error[:1])))
            if "simple_models" not in self._fitted:
                self._kept.add(examples)

    def _evaluates(self, function: str, shown: list[Tensor], prediction: Tensor, target: Any) -> None:
        asked = asked_examples(shown, function, prediction, target, EXAMPLES, 0)
        if asked is None or not self._kept.goes_with(asked[0]):
            return
        examples, error = asked
        if not self._held_out.full:
            self._held_out.add(examples)
        if self.context.step != self._evaluation:
            self._close()
            self._evaluation = self.context.step
        answers = torch.stack([error[0] * error[1], error[1]])
        self._answers = answers if self._answers is None else self._answers + answers

    def _close(self) -> None:
        """An evaluation is over."""
        if self._answers is not None:
            self._looks += 1
            step = max(self._evaluation - 1, 0)  # the last one that was made
            self._held_out_errors.append((step, self.queue.put(self._answers[:1] / self._answers[1:])))
            self._answers = None

    def detach(self, step: int) -> None:
        self._close()
        self._due, self._given, self._output = False, [], None
        if self._kept.full and self.context.affords(FIT_SECONDS):
            self._fit()

    def end(self) -> None:
        self._close()
        self._given, self._shown, self._output = [], [], None
        self._fit(over=True)

    def _fit(self, over: bool = False) -> None:
        own, held_out = "simple_models", "held_out_models"
        if own not in self._fitted and len(self._kept):
            examples = self._kept.all()
            self._fitted[own] = examples, self.queue.put(tried(examples))
            if examples.raw is not None:
                self._table = self.queue.put(as_numbers(examples))
        enough = self._held_out.full or (over and len(self._held_out) > 0)
        if enough and own in self._fitted and held_out not in self._fitted:
            examples = self._held_out.all()
            numbers = torch.cat([tried(examples), carried(self._fitted[own][0], examples)])
            self._fitted[held_out] = examples, self.queue.put(numbers)

    def rows(self) -> Iterable[RowSet]:
        for vital, errors in (("fit_error", self._errors), ("held_out_error", self._held_out_errors)):
            if errors:
                values = np.asarray([[pending.number] for _, pending in errors])
                yield RowSet(f"simple models, {vital}", [(vital, "")], [step for step, _ in errors], values)
        self._errors, self._held_out_errors = [], []
        for fact, (examples, pending) in self._fitted.items():
            if fact not in self._noted and hasattr(pending, "numbers"):
                self._noted.add(fact)
                self._note(fact, examples, pending.numbers)

    def _note(self, fact: str, examples: Examples, numbers: Any) -> None:
        names = ("linear", "neighbours", "guess", "examples", "carried_linear", "carried_neighbours")
        facts = dict(zip(names, map(float, numbers), strict=False))
        if facts["examples"] >= MIN_TRIED and np.isfinite(numbers).all():
            kind = {"classes": examples.classes, "bits": examples.bits, "places": examples.places}
            counts = {"kept": len(examples), "examples": int(facts["examples"]), "asked": self._asked}
            self.context.facts[fact] = facts | counts | kind
            if fact == "simple_models" and self._table is not None:
                table, self._table = self._table, None
                found = fitted_to_codes(torch.from_numpy(table.numbers), examples)
                if found is not None:
                    fitted = dict(zip(("codes", "numbers", "coded_columns"), found, strict=True))
                    self.context.facts[fact] |= fitted


class Kept:
    """Examples of one set, until there are enough."""

    def __init__(self) -> None:
        self._parts: list[Examples] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @property
    def full(self) -> bool:
        return bool(self._parts) and len(self) >= (PLACES if self._parts[0].places else EXAMPLES)

    def goes_with(self, examples: Examples) -> bool:
        return bool(self._parts) and self._parts[0].goes_with(examples)

    def add(self, examples: Examples) -> None:
        if self.full and self.goes_with(examples):
            return
        if not self.goes_with(examples):
            self._parts = []
        self._parts.append(examples)

    def all(self) -> Examples:
        return together(self._parts, PLACES if self._parts[0].places else EXAMPLES)
