"""A checkpoint holds everything: training goes on from it as if it had never stopped.

## What it sees
Model, optimizer and scheduler that, saved after two steps and loaded into fresh ones, take other next steps than the
originals do.

## Why it matters
A run is resumed sooner or later. A scheduler that starts anew sends the learning rate back to its peak; an optimizer
without its moments spikes; and both look like bad luck.

## How it decides
Two steps are taken, the three `state_dict`s go through `torch.save` and `torch.load`, and copies made before the first
step load them. Originals and copies then take two more steps on the same batches: weights and learning rates must be
the same to the last bit.

## When it is wrong
It tests that the objects can be saved, not that your own checkpoint does it: save all three, and the random state.

## What to try
1. `torch.save({"model": …, "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)`.
2. A scheduler of your own needs `state_dict` and `load_state_dict`; derive it from `LRScheduler`.

## Example
>>> from bedside.preflight.testing import examined
>>> class ByHand:
...     def step(self): pass
>>> print(examined(state_survives_saving, scheduler=ByHand()))
PRE305 state-survives-saving: ByHand has no state_dict: it starts anew when training is resumed.

## References
- PyTorch documentation, Saving and loading a general checkpoint.
"""

from __future__ import annotations

import copy
import io
from dataclasses import dataclass
from typing import Any

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.base import Passed, check
from bedside.preflight.setup import GRADIENT, OPTIMIZER, Setup
from bedside.training.random_state import save_random_state
from bedside.training.step import Training
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    before: int = 2  # steps until the state is saved: moments and counters have begun
    after: int = 2  # steps that must be the same


@check("PRE305", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT, OPTIMIZER])
def state_survives_saving(setup: Setup, limits: Limits) -> Passed | Finding:
    optimizer = setup.needed_optimizer()
    parts = {"model": setup.model, "optimizer": optimizer, "scheduler": setup.scheduler}
    parts = {name: each for name, each in parts.items() if each is not None}
    for each in parts.values():
        if not hasattr(each, "state_dict") or not hasattr(each, "load_state_dict"):
            return _finding(f"{type(each).__name__} has no state_dict: it starts anew when training is resumed.")
    fresh = _copies(parts)
    _steps(setup, parts, 0, limits.before)
    try:
        saved = _through_a_file({name: each.state_dict() for name, each in parts.items()})
        for name, each in fresh.items():
            each.load_state_dict(saved[name])
    except Exception as error:
        complaint = f"{type(error).__name__}: {error}".splitlines()[0]
        return _finding(f"The state cannot be saved and loaded again: {complaint}.")
    same_numbers = save_random_state()
    _steps(setup, parts, limits.before, limits.after)
    same_numbers()
    _steps(setup, fresh, limits.before, limits.after)
    if differing := _differences(parts, fresh):
        return _finding(
            f"After saving and loading, training goes on differently: {listed(differing)} differ.", differing
        )
    kept = ", ".join(f"{type(each).__name__}" for each in parts.values())
    return state_survives_saving.passed(f"{kept}: the same steps after saving and loading")


def _finding(message: str, where: list[str] | None = None) -> Finding:
    return state_survives_saving.finding(
        message,
        where=where or [],
        confidence=0.85,
        could_also_be=("Random numbers that the model keeps for itself.",),
        try_=("Derive schedulers from LRScheduler and keep an optimizer's state in self.state, which are saved.",),
    )


def _copies(parts: dict[str, Any]) -> dict[str, Any]:
    """All of them copied together, so that the copied optimizer holds the copied model's parameters."""
    memo: dict[int, Any] = {}
    try:
        copied: dict[str, Any] = copy.deepcopy(parts, memo)
        attributes = vars(copied["optimizer"])
        for name, value in vars(parts["optimizer"]).items():  # an optimizer copies its groups and states, no more
            if name not in attributes:
                attributes[name] = copy.deepcopy(value, memo)
    except Exception as error:  # compiled modules, locks, open files
        raise NotEnough(f"a model and an optimizer that can be copied ({type(error).__name__})") from None
    attributes.pop("step", None)  # schedulers replace it by one that steps the original
    return copied


def _through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=False)
    return loaded


def _steps(setup: Setup, parts: dict[str, Any], first: int, steps: int) -> None:
    training = setup.training
    own = Training(parts["model"], training.loader, training.loss_fn, parts["optimizer"], training.forward)
    own.train_mode()
    for number in range(first, first + steps):
        try:
            own.step_on([setup.batch(number)])
        except TypeError:
            raise NotEnough("an optimizer whose step() needs no closure") from None
        scheduler = parts.get("scheduler")
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            scheduler.step(1.0)
        elif scheduler is not None:
            scheduler.step()


def _differences(parts: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    one, other = parts["model"].state_dict(), fresh["model"].state_dict()
    found = [name for name in one if isinstance(one[name], torch.Tensor) and not torch.equal(one[name], other[name])]
    rates = ([group["lr"] for group in each["optimizer"].param_groups] for each in (parts, fresh))
    return [*found, *(["the learning rate"] if len({str(each) for each in rates}) > 1 else [])]
