"""What the guard decided, in words: each skipped step, how many in a row, and what is not finite. Three in a row are no
accident: either the parameters are already bad, which no skipping repairs, or every batch is, or the model makes NaN
out of finite numbers. The message then says which.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.step.step_count import StepCount
from bedside.incident.guard.guard import NonFiniteStep
from bedside.record.run import Event
from bedside.training.batches import named_tensors
from bedside.training.nonfinite.hunt import bad_weights
from bedside.training.nonfinite.values import is_finite, statistics
from bedside.wording import count, listed, plural

IN_A_ROW = 3  # skips that escalate: one is a bad batch, two may be
SPOKEN = 5  # single skips that are announced; the record has all of them
KIND = "guard"  # of the event in the record


class Decisions:
    """Takes each decision of the guard, at once or when it has come from its device."""

    def __init__(
        self,
        action: str,
        context: Any,
        steps: StepCount,
        inputs: Callable[[], Any],
        announce: Callable[[str], None],
    ) -> None:
        self._action = action
        self._context = context
        self._steps = steps
        self._inputs = inputs
        self._announce = announce
        self.in_a_row = self.total = 0
        self._arriving: list[tuple[int, Any]] = []
        self._news: list[Event] = []

    def decided(self, bad: bool | Tensor, optimizer: Optimizer) -> None:
        if isinstance(bad, Tensor):
            self._arriving.append((self._steps.next, self._context.queue.put(bad.float())))
        elif bad or self.in_a_row:
            self._note(self._steps.next, bad, optimizer)

    def events(self) -> list[Event]:
        """What was decided since the last call, as far as it has arrived."""
        while self._arriving and hasattr(self._arriving[0][1], "numbers"):
            step, value = self._arriving.pop(0)
            self._note(step, bool(value.number), None)
        news, self._news = self._news, []
        return news

    def _note(self, step: int, bad: bool, optimizer: Optimizer | None) -> None:
        if not bad:
            self.in_a_row = 0
            return
        self.in_a_row += 1
        self.total += 1
        gradients = [] if optimizer is None else _bad_gradients(self._context.model)
        what = f"the gradient of {listed(gradients)} is not finite" if gradients else "its update would not be sound"
        self._news.append(Event(step, KIND, {"action": self._action, "in_a_row": self.in_a_row}, time.time()))
        if self._action == "raise":
            raise self._error(step, what)
        if self._action == "stop":
            self._announce(f"bedside: training stops before step {count(step)}: {what}. {self._origin()}")
            raise SystemExit(1)
        if self.in_a_row == IN_A_ROW:
            origin = self._origin()
            self._news.append(
                Event(step, KIND, {"action": "escalate", "in_a_row": IN_A_ROW, "what": origin}, time.time())
            )
            self._announce(f"bedside: {IN_A_ROW} steps in a row were skipped, up to step {count(step)}. {origin}")
        elif self.in_a_row == 1 and self.total <= SPOKEN:
            self._announce(f"bedside: step {count(step)} is skipped: {what}. Weights and optimizer are unchanged.")

    def _error(self, step: int, what: str) -> NonFiniteStep:
        return NonFiniteStep(
            f"Step {count(step)} was not taken: {what}.",
            expected=f"finite gradients. {self._origin()}",
            try_='bedside.watch(model, optimizer, on_nan="skip", black_box=True), then bedside replay',
        )

    def _origin(self) -> str:
        """Whether parameters or the batch are not finite."""
        if names := bad_weights(self._context.model):
            return f"Not finite are the weights themselves ({listed(names)}): go back to a checkpoint from before."
        if (inputs := self._inputs()) is None:
            return "The weights are finite."
        if bad := bad_tensors(inputs):
            return f"The weights are finite, the batch is not ({listed(bad)}): look at the data."
        return (
            "Weights and batch are finite: the model or the loss makes NaN of them. Lower the learning rate, or replay."
        )


def bad_tensors(inputs: Any) -> list[str]:
    """The inputs that are not finite, with how many entries."""
    found = []
    for name, tensor in named_tensors(inputs, "inputs"):
        if not is_finite(tensor):
            stats = statistics(tensor)
            found.append(f"{name} with {plural(stats.nan + stats.inf, 'entry')}".replace("entrys", "entries"))
    return found


def _bad_gradients(model: nn.Module) -> list[str]:
    with torch.no_grad():
        return [name for name, each in model.named_parameters() if each.grad is not None and not is_finite(each.grad)]
