"""The parameters that are read: in which order, and whether they are still the model's and its optimizers'.

At first they lie as the model names them. The first backward shows in which order gradients arrive, which is the
network's own order, reversed. Later, a check now and then finds layers that were unfrozen or replaced. The layout may
change only between two steps, and ends the fast path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bedside.collect.collector import WatchContext
from bedside.collect.model.gradient_order import GradientOrder
from bedside.collect.model.optimizer_coverage import coverage, parameter_counts
from bedside.collect.model.parameter_layout import Layout, lay_out
from bedside.collect.step.optimizer_step import StepListener
from bedside.collect.step.step_rows import StepRows


class Parameters:
    """Keeps the context's layout up to date, and notifies those that use it."""

    def __init__(
        self,
        context: WatchContext,
        gradient_order: GradientOrder,
        steps: StepListener,
        step_rows: StepRows,
        note_coverage: Callable[[dict[str, Any]], None],
        leave_fast_path: Callable[[], None],
    ) -> None:
        self._context = context
        self._gradient_order = gradient_order
        self._steps = steps
        self._step_rows = step_rows
        self._note_coverage = note_coverage
        self._leave_fast_path = leave_fast_path
        self._next: Layout | None = None  # waits for the end of the step

    def backward_begins(self) -> None:
        """Lazy layers have been built by now."""
        if self._context.layout.lazy:
            self.look_over()
            self._context.facts |= parameter_counts(self._context.model)

    def backward_ended(self) -> None:
        """One of ours; the first of them tells the order."""
        if self._gradient_order.listening and self._gradient_order.order:
            self._gradient_order.stop()
            self._next = lay_out(self._context.model, self._gradient_order.order)
            if self._steps.idle:
                self._read(self._next)

    def step_ended(self) -> None:
        if self._next is not None:  # learnt inside optimizer.step(closure); now nothing is half read
            self._read(self._next)

    def look_over(self) -> None:
        """Does the model still have the tensors that are being read, and do the optimizers hold them?"""
        context = self._context
        if not context.layout.same_parameters(context.model):
            self._read(lay_out(context.model, self._gradient_order.order))
        self.check_coverage()

    def check_coverage(self) -> None:
        self._note_coverage(coverage(self._context.layout, self._context.optimizers))

    def _read(self, layout: Layout) -> None:
        self._leave_fast_path()
        self._context.layout = layout
        self._next = None
        self._steps.relayout(layout)
        self._step_rows.start_counting(layout)
