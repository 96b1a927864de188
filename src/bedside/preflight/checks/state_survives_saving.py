"""A checkpoint holds everything: training goes on from it as if it had never stopped.

## What it sees
Model, optimizer and scheduler that, saved after two steps and loaded into fresh ones, take other next steps than the
originals do.

## Why it matters
A run is resumed sooner or later. A scheduler that starts anew sends the learning rate back to its peak; an optimizer
without its moments spikes; and both look like bad luck.

## How it decides
Two steps are taken, the `state_dict`s go through `torch.save` and `torch.load`, and two more steps follow. Then
everything is put back to the start, as a new process would make it, loads what was saved, and takes the last two steps
again on the same batches: weights and learning rates must be the same to the last bit.

## When it is wrong
It tests that the objects can be saved, not that your own checkpoint does it: save all three, and the random state.

## What to try
1. `torch.save({"model": …, "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)`.
2. A scheduler of your own needs `state_dict` and `load_state_dict`; derive it from `LRScheduler`.

## Example
>>> from bedside.preflight.example_setup import examined
>>> class ByHand:
...     def step(self): pass
>>> print(examined(state_survives_saving, scheduler=ByHand()))
PRE305 state-survives-saving: ByHand has no state_dict: it starts anew when training is resumed.

## References
- PyTorch documentation, Saving and loading a general checkpoint.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, OPTIMIZER, Setup
from bedside.training.random_state import save_random_state
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    before: int = 2  # steps until the state is saved: moments and counters have begun
    after: int = 2  # steps that must be the same


@check("PRE305", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT, OPTIMIZER])
def state_survives_saving(setup: Setup, limits: Limits) -> Passed | Finding:
    parts = {"model": setup.model, "optimizer": setup.needed_optimizer(), "scheduler": setup.scheduler}
    parts = {name: each for name, each in parts.items() if each is not None}
    for each in parts.values():
        if not hasattr(each, "state_dict") or not hasattr(each, "load_state_dict"):
            return _finding(f"{type(each).__name__} has no state_dict: it starts anew when training is resumed.")
    setup.rewind()
    _steps(setup, 0, limits.before)
    try:
        saved = _through_a_file({name: each.state_dict() for name, each in parts.items()})
    except Exception as error:
        return _finding(f"The state cannot be saved: {_one_line(error)}.")
    same_numbers = save_random_state()
    _steps(setup, limits.before, limits.after)
    straight = _state(setup)
    setup.rewind()  # as a new process would make them
    try:
        for name, each in parts.items():
            each.load_state_dict(saved[name])
    except Exception as error:
        return _finding(f"The state cannot be loaded again: {_one_line(error)}.")
    same_numbers()
    _steps(setup, limits.before, limits.after)
    if differing := _differences(straight, _state(setup)):
        message = f"After saving and loading, training goes on differently: {listed(differing)} differ."
        return _finding(message, differing)
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


def _through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=False)
    return loaded


def _steps(setup: Setup, first: int, steps: int) -> None:
    setup.training.train_mode()
    for number in range(first, first + steps):
        try:
            setup.training.step_on([setup.batch(number)])
        except TypeError:
            raise NotEnough("an optimizer whose step() needs no closure") from None
        if isinstance(setup.scheduler, ReduceLROnPlateau):
            setup.scheduler.step(1.0)
        elif setup.scheduler is not None:
            setup.scheduler.step()


def _state(setup: Setup) -> dict[str, Any]:
    tensors = {name: each for name, each in setup.model.state_dict().items() if isinstance(each, torch.Tensor)}
    rates = [float(group["lr"]) for group in setup.needed_optimizer().param_groups]
    return {name: each.detach().clone() for name, each in tensors.items()} | {"the learning rate": torch.tensor(rates)}


def _differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [name for name in one if not torch.equal(one[name].nan_to_num(), other[name].nan_to_num())]


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
