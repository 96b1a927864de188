"""The guard: an update with non-finite gradients is not applied, and training goes on with clean weights.

How a step is skipped with the least risk. A hook before `optimizer.step` cannot cancel it, but every optimizer skips
parameters that have no gradient: no update, no weight decay, no step count. So the gradients are removed before the
step and restored after it, and no method is replaced. On the CPU the check can be read at once. On a device reading it
would make the host wait at every step, so the check stays there: a fused optimizer is handed it as `found_inf`, as
GradScaler does, and for others weights and state are copied before and put back where the check says so
(`put_back.py`), at the cost of the memory for one copy.

A GradScaler leaves out such steps by itself; steps under an enabled one are not guarded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.errors import BadOption, BedsideError
from bedside.incident.capture.step_check import StepCheck
from bedside.incident.guard.put_back import PutBack, counts_in_numbers, moved_by
from bedside.incident.guard.skip_agreement import Ranks

is_compiling = torch.compiler.is_compiling
ACTIONS = ("report", "skip", "stop", "raise")

Decided = Callable[[bool | Tensor, Optimizer], None]  # whether this step is bad, and whose it is


class NonFiniteStep(BedsideError, ArithmeticError):
    """Raised instead of a step whose gradients are not finite, with `on_nan="raise"`."""


def check_action(on_nan: Any) -> str:
    if on_nan not in ACTIONS:
        raise BadOption(
            f"on_nan={on_nan!r} is not an action.",
            expected="report (the default), skip, stop or raise",
            try_='bedside.watch(model, optimizer, on_nan="skip")',
        )
    return str(on_nan)


def check_multiple(skip_spikes: Any) -> float | None:
    is_number = isinstance(skip_spikes, int | float) and not isinstance(skip_spikes, bool)
    if skip_spikes is not None and not (is_number and skip_spikes > 0):
        raise BadOption(
            f"skip_spikes={skip_spikes!r} is not a multiple of the run's own spread.",
            expected="a number above 0, such as 6, or None",
            try_="bedside.watch(model, optimizer, skip_spikes=6)",
        )
    return None if skip_spikes is None else float(skip_spikes)


class Guard:
    """Decides before each step whether it is taken. `decided` learns of every decision, and may raise."""

    def __init__(
        self,
        check: StepCheck,
        decided: Decided,
        *,
        scaler: Callable[[], Any] = lambda: None,
        undo: Callable[[bool | Tensor], None] = lambda bad: None,
        ended: Callable[[], None] = lambda: None,
        wait: bool | None = None,
    ) -> None:
        self._check = check
        self._decided = decided
        self._scaler = scaler
        self._ended = ended  # the step is over
        self._undo = undo  # what else the step has changed: buffers that move in the forward
        check.reads_cpu = wait is not False
        self._wait = wait  # whether the host reads the answer; by default where that costs nothing
        self._ranks = Ranks()
        self._taken: list[tuple[Tensor, Tensor]] = []  # gradients that are put back after the step
        self._device_flag: Tensor | None = None
        self._copies: dict[int, PutBack] = {}
        self._stepped: set[int] = set()  # ids of parameters that have been through a step

    def before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        """The optimizer's hook, called after those that only read. A closure is guarded once it has computed the
        gradients."""
        if is_compiling():  # a decision that the graph would hold for ever is none
            return None
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self._decide(optimizer)
            return None

        def guarded() -> Any:
            self._give_back()  # of an evaluation before this one
            loss = closure()
            self._decide(optimizer)
            return loss

        if len(args) > 1:
            return (args[0], guarded, *args[2:]), kwargs
        return args, {**kwargs, "closure": guarded}

    def after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """Called before the hooks that only read: gradients are restored, and the weights have their final values."""
        if is_compiling():
            return
        taken = bool(self._taken)
        self._give_back()
        flag, self._device_flag = self._device_flag, None
        if flag is None:
            if self._wait is not True and not taken:
                self._stepped.update(map(id, moved_by(optimizer)))
        elif getattr(optimizer, "found_inf", None) is flag:
            del optimizer.found_inf, optimizer.grad_scale
        else:
            self._copies[id(optimizer)].after(flag)
        self._ended()

    def end(self) -> None:
        for each in self._copies.values():
            each.settle()
        self._copies.clear()

    def _decide(self, optimizer: Optimizer) -> None:
        scaler = self._scaler()
        if scaler is not None and scaler.is_enabled():
            return
        flag = self._ranks.any(self._check.is_bad(optimizer))
        fused = getattr(optimizer, "_step_supports_amp_scaling", False)
        if self._reads(flag, optimizer, fused):
            bad = bool(flag)
            if bad:
                self._undo(True)
            self._decided(bad, optimizer)  # may raise
            if bad:
                self._take_away(optimizer)
            return
        self._decided(flag, optimizer)
        self._device_flag = flag.to(torch.float32)
        self._undo(self._device_flag)
        if fused:
            optimizer.found_inf, optimizer.grad_scale = self._device_flag, None
        else:
            self._copies.setdefault(id(optimizer), PutBack(optimizer)).before()

    def _reads(self, flag: Tensor, optimizer: Optimizer, fused: bool) -> bool:
        """Whether the host reads the answer: if that costs nothing, or if the device could not undo the step. That is
        at the first step of a parameter, whose moments do not exist yet, and with state in plain numbers."""
        if self._wait if self._wait is not None else flag.device.type == "cpu":
            return True
        fresh = any(id(each) not in self._stepped for each in moved_by(optimizer))
        return fresh or (not fused and counts_in_numbers(optimizer))

    def _take_away(self, optimizer: Optimizer) -> None:
        parameters: Sequence[Tensor] = [each for group in optimizer.param_groups for each in group["params"]]
        self._taken = [(each, each.grad) for each in parameters if each.grad is not None]
        for each, _ in self._taken:
            each.grad = None

    def _give_back(self) -> None:
        taken, self._taken = self._taken, []
        for parameter, gradient in taken:
            if parameter.grad is None:
                parameter.grad = gradient
