"""Learning-rate schedulers: what they were built for, and whether they are stepped before the optimizer.

The learning rate itself is read where it is used, at `optimizer.step`. Here only what the number does not tell: which
class, how many steps of warm-up and in all, and how often it is stepped per optimizer step. One that takes the place of
another (a resume, a second phase) counts from there, and the other one to there.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from typing import Any

from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.record.run import Event

# What the common schedulers call their settings; those that a scheduler has are recorded under these names.
SETTINGS = (
    "total_steps", "T_max", "T_0", "T_mult", "T_i", "eta_min", "step_size", "gamma", "milestones", "total_iters",
    "start_factor", "end_factor", "power", "max_lr", "mode", "factor", "patience", "threshold", "min_lrs", "cooldown",
)  # fmt: skip
TOTALS = ("total_steps", "num_training_steps", "max_steps", "T_max", "total_iters", "num_steps", "training_steps")
WARM_UPS = ("num_warmup_steps", "warmup_steps", "warmup", "n_warmup", "warmup_iters")


class Schedulers(Collector):
    """Observes every `scheduler.step()`."""

    name = "schedulers"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._known: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._inner: set[int] = set()
        self._optimizer_steps = 0
        self._early = 0
        self._news: list[Event] = []
        self._reported = 0

    def scheduler_stepped(self, scheduler: Any) -> None:
        if getattr(scheduler, "_is_initial", False) or id(scheduler) in self._inner:
            return
        ours = self._is_ours(scheduler)
        if not ours and not self._shares_parameters(scheduler):
            return
        if id(scheduler) not in self._known:
            self._inner |= {id(each) for each in getattr(scheduler, "_schedulers", ())}
            other = {} if ours else {"drives_another_optimizer": True}
            before = [each["last_call"] for _, each in self._known.values()]
            first = {"stepped": 0, "begins": max(before, default=0)}
            self._known[id(scheduler)] = (scheduler, {**describe(scheduler), **other, **first})
            self._reported = 0
        facts = self._known[id(scheduler)][1]
        facts["stepped"] += 1
        facts["last_call"] = self._steps()
        if ours and self._optimizer_steps == 0 and self.context.step == 0:
            self._early += 1
            if self._early == 1:
                self._news.append(Event(0, "scheduler_before_optimizer", {"scheduler": facts["name"]}, time.time()))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        self._optimizer_steps += 1
        if self._optimizer_steps == 1 and hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            self.context.facts["scheduler_attached"] = True  # built on this optimizer, whether or not it is stepped

    def _steps(self) -> int:
        """The optimizer steps so far."""
        return self._optimizer_steps + self.context.skipped_steps + self.context.unsettled_steps()

    def _is_ours(self, scheduler: Any) -> bool:
        optimizer = _optimizer_of(scheduler)
        return any(optimizer is each for each in self.context.optimizers)

    def _shares_parameters(self, scheduler: Any) -> bool:
        """Whether the optimizer that it drives, which is not watched, holds parameters of the watched model."""
        if id(scheduler) in self._known:
            return True
        groups = getattr(_optimizer_of(scheduler), "param_groups", ())
        held = {id(each) for group in groups for each in group["params"]}
        return any(id(each) in held for each in self.context.model.parameters())

    def end(self) -> None:
        self._reported = 0

    def events(self) -> Iterable[Event]:
        steps = self._steps()
        if self._known and steps >= 2 * self._reported:
            self._reported = max(1, steps)
            every = [facts for _, facts in self._known.values()]
            listed = [{**each, "optimizer_steps": steps_of(each, every, steps)} for each in every]
            self.context.facts["schedulers"] = listed
        news, self._news = self._news, []
        return news


def steps_of(one: dict[str, Any], every: Sequence[dict[str, Any]], steps: int) -> int:
    """The optimizer steps while this scheduler was the one in use: until the next began, or until now.

    >>> first, second = {"begins": 0, "last_call": 240}, {"begins": 240, "last_call": 300}
    >>> steps_of(first, [first, second], 300), steps_of(second, [first, second], 300)
    (240, 60)
    """
    later = [each["begins"] for each in every if each is not one and each["begins"] >= one["last_call"] > one["begins"]]
    return min([steps, *later]) - one["begins"]


def _optimizer_of(scheduler: Any) -> Any:
    optimizer = getattr(scheduler, "optimizer", None)
    return optimizer if isinstance(optimizer, Optimizer) else getattr(optimizer, "optimizer", optimizer)


def describe(scheduler: Any) -> dict[str, Any]:
    """What a scheduler was built with: its class, settings, total and warm-up steps as far as they can be read.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> describe(torch.optim.lr_scheduler.StepLR(optimizer, 30, gamma=0.5))
    {'name': 'StepLR', 'step_size': 30, 'gamma': 0.5}
    """
    facts: dict[str, Any] = {"name": type(scheduler).__name__}
    for name in SETTINGS:
        value = getattr(scheduler, name, None)
        if name == "milestones" and value is not None:
            value = sorted(value)
        if isinstance(value, (bool, int, float, str, list)):
            facts[name] = value
    inner = list(getattr(scheduler, "_schedulers", ()))
    if inner:
        facts["milestones"] = list(getattr(scheduler, "_milestones", ()))
        facts["schedulers"] = [describe(each) for each in inner]
    for function in getattr(scheduler, "lr_lambdas", ())[:1]:
        facts |= {
            "function": getattr(_innermost(function), "__name__", type(function).__name__),
            **_numbers_of(function),
        }
    facts |= _in_common_terms(facts)
    return facts


def _in_common_terms(facts: dict[str, Any]) -> dict[str, Any]:
    """`total` and `warmup` in scheduler steps, whatever this scheduler calls them."""
    found: dict[str, Any] = {}
    total = next((facts[name] for name in TOTALS if isinstance(facts.get(name), (int, float))), None)
    warmup = next((facts[name] for name in WARM_UPS if isinstance(facts.get(name), (int, float))), None)
    parts = facts.get("schedulers", [])
    if parts and facts["milestones"]:  # one after another: the last one ends where its own total does
        tail = parts[-1].get("total")
        total = facts["milestones"][-1] + tail if tail is not None else None
        warmup = facts["milestones"][0] if parts[0].get("name") in ("LinearLR", "ConstantLR") else None
    if total is not None:
        found["total"] = int(total)
    if warmup is not None:
        found["warmup"] = int(warmup)
    return found


def _innermost(function: Any) -> Any:
    return _innermost(function.func) if isinstance(function, functools.partial) else function


def _numbers_of(function: Any) -> dict[str, Any]:
    """The numbers a lambda closes over: HF's schedules are partials, hand-written ones are closures or objects."""
    found: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        found |= {name: value for name, value in function.keywords.items() if _is_number(value)}
        function = function.func
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if _is_number(value):
            found[name] = value
    if not names and not found and hasattr(function, "__dict__") and not isinstance(function, type):
        found |= {name: value for name, value in vars(function).items() if _is_number(value)}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
