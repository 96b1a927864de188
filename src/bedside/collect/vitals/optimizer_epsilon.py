"""Adam's epsilon compared with the gradients it is added to: where it is larger, steps are shorter than the learning
rate.

Adam divides by the root of the second moment plus epsilon. Epsilon is there against division by zero, and should be far
below the root; an epsilon of 1e-3 or 1 from somebody else's recipe, with gradients of 1e-5, makes every step a small
fraction of the learning rate. Read after some of the first sampled steps, before convergence makes gradients small.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.subsample import sample
from bedside.record.run import Event

FIRST_STEP = 10  # steps: the second moment has seen a few gradients
LAST_STEP = 100  # steps: later, small gradients may be those of a network that has learned
MAX_LOOKS = 5
TENSORS = 20  # of a group, the first of each size class: enough for a median


class OptimizerEpsilon(Collector):
    """Compares epsilon with the root of the second moment, for optimizers that have both."""

    name = "optimizer epsilon"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._looked = 0
        self._waiting: list[tuple[int, str, float, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = self._looked < MAX_LOOKS and FIRST_STEP <= step <= LAST_STEP

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if not self._due:
            return
        self._due = False
        self._looked += 1
        for group in optimizer.param_groups:
            roots = second_moment_roots(optimizer, group)
            if roots is not None:
                median = self.queue.put(roots.median().double().reshape(1))
                self._waiting.append((self.context.step, type(optimizer).__name__, float(group["eps"]), median))

    def detach(self, step: int) -> None:
        self._due = False

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, optimizer, epsilon, pending in waiting:
            root = float(pending.numbers[0])
            if epsilon > root:
                facts = {"optimizer": optimizer, "eps": epsilon, "root": root}
                yield Event(step, "optimizer_epsilon", facts, time.time())


def second_moment_roots(optimizer: Optimizer, group: dict[str, Any]) -> Tensor | None:
    """Roots of the second moments of some of a group's weights, without the bias of the first steps."""
    if "eps" not in group or "betas" not in group:
        return None
    found: list[Tensor] = []
    for parameter in group["params"]:
        state = optimizer.state.get(parameter, {})
        moment, step = state.get("exp_avg_sq"), state.get("step")
        if not isinstance(moment, Tensor) or step is None or len(found) == TENSORS:
            continue
        correction = 1 - group["betas"][1] ** torch.as_tensor(step, dtype=torch.float64, device=moment.device)
        values = sample(moment.detach(), 0).double()
        found.append((values / correction).clamp(min=0).sqrt())
    return torch.cat([each[each > 0] for each in found]) if found and any((each > 0).any() for each in found) else None
