"""The parameters that are read: in which order, and whether they are still the model's and its optimizers'.

At first they lie as the model names them. The first backward tells in which order gradients arrive, which is the
network's own order, reversed. Later a look now and then finds the layer that was unfrozen or replaced. Whenever they
are laid out anew no step may be half read, and quiet ones are over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bedside.collect.collector import Patient
from bedside.collect.model.gradient_order import Arrival
from bedside.collect.model.optimizer_coverage import coverage
from bedside.collect.model.parameter_layout import Layout, lay_out
from bedside.collect.step.optimizer_step import StepListener
from bedside.collect.step.step_rows import Pulse


class Parameters:
    """Keeps the patient's layout up to date, and tells whoever reads by it."""

    def __init__(
        self,
        patient: Patient,
        arrival: Arrival,
        steps: StepListener,
        pulse: Pulse,
        note_coverage: Callable[[dict[str, Any]], None],
        wake: Callable[[], None],
    ) -> None:
        self._patient = patient
        self._arrival = arrival
        self._steps = steps
        self._pulse = pulse
        self._note_coverage = note_coverage
        self._wake = wake
        self._next: Layout | None = None  # waits for the end of the step

    def backward_ended(self) -> None:
        """One of ours; the first of them tells the order."""
        if self._arrival.listening and self._arrival.order:
            self._arrival.stop()
            self._next = lay_out(self._patient.model, self._arrival.order)
            if self._steps.idle:
                self._read(self._next)

    def step_ended(self) -> None:
        if self._next is not None:  # learnt inside optimizer.step(closure); now nothing is half read
            self._read(self._next)

    def look_over(self) -> None:
        """Does the model still have the tensors that are being read, and do the optimizers hold them?"""
        patient = self._patient
        if not patient.layout.same_parameters(patient.model):
            self._read(lay_out(patient.model, self._arrival.order))
        self.check_coverage()

    def check_coverage(self) -> None:
        self._note_coverage(coverage(self._patient.layout, self._patient.optimizers))

    def _read(self, layout: Layout) -> None:
        self._wake()
        self._patient.layout = layout
        self._next = None
        self._steps.relayout(layout)
        self._pulse.start_counting(layout)
