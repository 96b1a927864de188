"""Black box and guard of one watched run, joined: the only part of this package that the monitor knows. The monitor
adds `listener` to its collectors, hooks the guard in after it has read the gradients and before it reads the weights,
and notifies it when numbers were recorded and when the training failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch.optim import Optimizer

from bedside.collect.hooks.nested_steps import without_nested_steps
from bedside.collect.step.step_count import StepCount
from bedside.incident.black_box import BlackBox, black_box_of
from bedside.incident.capture.step_check import StepCheck
from bedside.incident.guard.decisions import Decisions
from bedside.incident.guard.guard import Guard, check_action, check_multiple
from bedside.incident.listener import IncidentListener
from bedside.record.run import Run


class Incidents:
    """What was asked for, and the parts that do it."""

    def __init__(self, black_box: BlackBox | None, on_nan: str, skip_spikes: float | None) -> None:
        self._box = black_box
        self._action = on_nan if on_nan != "report" or skip_spikes is None else "skip"
        self._check = StepCheck(
            skip_spikes or (black_box.spike if black_box else None), guards_spikes=skip_spikes is not None
        )
        self._listener: IncidentListener | None = None
        self._decisions: Decisions | None = None
        self._guard: Guard | None = None
        self._optimizers: list[Optimizer] = []
        self._begins: list[Any] = []  # hooks of the guard

    def listener(
        self, context: Any, run_dir: Path, count: StepCount, announce: Callable[[str], None]
    ) -> IncidentListener:
        """The collector that follows the steps."""
        self._listener = listener = IncidentListener(context, self._check, self._box, run_dir, announce)
        if self._action != "report":
            self._decisions = Decisions(self._action, context, count, lambda: listener.inputs, announce)
            # With a black box the answer is read at every step anyway, and an exception has to come at once.
            waits = True if self._box is not None or self._action != "skip" else None
            self._guard = Guard(
                self._check,
                self._decisions.decided,
                scaler=lambda: context.scaler,
                undo=listener.buffers.put_back,
                ended=self._step_ended,
                wait=waits,
            )
            listener.decisions = self._decisions
        return listener

    def _step_ended(self) -> None:
        """Called by the guard's own hook, also on the fast path."""
        assert self._listener is not None
        self._check.begin()
        if self._box is None:  # with one, buffers are copied before the forward
            self._listener.buffers.step_begins()

    def guard_step_begins(self, optimizers: Sequence[Optimizer]) -> list[Any]:
        """Hooks that may leave a step out; to be registered after those that look at gradients."""
        guard = self._guard
        if guard is None:
            return []
        self._optimizers = list(optimizers)
        self._begins = [
            each.register_step_pre_hook(without_nested_steps(guard.before_step, each)) for each in optimizers
        ]
        return self._begins

    def guard_last(self) -> None:
        """Other hooks were added: the guard must still run after them, or they would find no gradients."""
        for optimizer, handle in zip(self._optimizers, self._begins, strict=True):
            if handle.id in optimizer._optimizer_step_pre_hooks:  # an experiment may have taken it off for a while
                optimizer._optimizer_step_pre_hooks.move_to_end(handle.id)

    def guard_step_ends(self, optimizers: Sequence[Optimizer]) -> list[Any]:
        """Hooks that put gradients and weights back; to be registered before those that look at weights."""
        guard = self._guard
        if guard is None:
            return []
        return [each.register_step_post_hook(without_nested_steps(guard.after_step, each)) for each in optimizers]

    def failed(self, error: BaseException) -> None:
        """The user's training raised it."""
        if self._listener is not None:
            self._listener.failed(error)

    def recorded(self, run: Callable[[], Run]) -> None:
        """Numbers have gone into the record; `run` opens it."""
        if self._listener is not None and self._listener.without_history:
            self._listener.add_history(run)

    def end(self) -> None:
        if self._guard is not None:
            self._guard.end()


def incidents_of(black_box: Any, on_nan: Any, skip_spikes: Any) -> Incidents | None:
    """Made from the arguments of `watch`; None if neither was asked for."""
    box, action, multiple = black_box_of(black_box), check_action(on_nan), check_multiple(skip_spikes)
    return None if box is None and action == "report" and multiple is None else Incidents(box, action, multiple)
