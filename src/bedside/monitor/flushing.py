"""What a flush writes: the rows of the steps that waited, those of the collectors, and what was learnt meanwhile.

When there is one is up to `flushes.py`, and where it is written to `notes.py`. Means over many steps are written here
as well: of an epoch's losses, and of the losses of each category.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from bedside.collect.collector import Collector, Patient
from bedside.collect.collector_set import Ensemble
from bedside.collect.model.optimizer_coverage import parameter_table
from bedside.collect.step.loss_by_category import Categories
from bedside.collect.step.step_rows import Pulse
from bedside.monitor.recorder import Notes
from bedside.monitor.run_events import Events

LIVE_CATEGORIES = 500  # more than these are written, but not kept in memory for the live view (12 KB each)


class Writing:
    """Brings over the numbers that wait, on a device or at hand, and notes them."""

    def __init__(
        self,
        notes: Notes,
        events: Events,
        patient: Patient,
        pulse: Pulse,
        ensemble: Ensemble,
        categories: Categories,
    ) -> None:
        self._notes = notes
        self._events = events
        self._patient = patient
        self._pulse = pulse
        self._ensemble = ensemble
        self._categories = categories
        self._epoch_loss = (0.0, 0)  # sum and number

    def flush(self) -> NDArray[np.float64]:
        """All that waits; returns the losses of its steps."""
        self._patient.freight.unload()
        self._categories.collect()
        losses = self._pulse.flush()
        self._events.accumulation(self._pulse.divided)
        self._ensemble.each(self._collect_rows)
        learnt, self._patient.facts = self._patient.facts, {}
        self._notes.facts(learnt)
        total, count = self._epoch_loss
        self._epoch_loss = (total + float(losses.sum()), count + len(losses))
        return losses

    def _collect_rows(self, collector: Collector) -> None:
        for rows in collector.rows():
            times = [time.time()] * len(rows.steps)
            self._notes.rows(rows.name, rows.columns, list(rows.steps), times, rows.values, rows.dtype)
        for event in collector.events():
            self._notes.happened(event)

    def epoch_mean(self, *, begun: bool) -> None:
        """The mean loss of the epoch that is over, if one had begun: steps before the first belong to none."""
        (total, count), self._epoch_loss = self._epoch_loss, (0.0, 0)
        if count and begun:
            self._notes.metric(self._events.step, "loss_epoch", total / count)

    def category_means(self, *, validating: bool = False) -> None:
        """The mean loss of every category since the last time, and what was noticed about how it is normalised."""
        means = self._categories.report(validating=validating)
        vital = "val/loss_by_category" if validating else "loss_by_category"
        step = self._events.step
        for category, mean in means.items():
            self._notes.metric(step, vital, mean, category, live=len(means) <= LIVE_CATEGORIES)
        news, self._categories.news = self._categories.news, []
        for what in news:
            self._events.note("categories_not_normalised", {"what": what})

    def parameters(self) -> None:
        """The table of them, with how many steps each got a gradient."""
        patient, pulse = self._patient, self._pulse
        table = parameter_table(
            patient.model, patient.layout, patient.optimizers, pulse.gradient_steps.tolist(), pulse.watched_steps
        )
        self._notes.parameters(table)
