"""What a flush writes: the rows of the pending steps, those of the collectors, and what was learnt meanwhile.
`flush_timing.py` decides when to flush, and `recorder.py` where rows go. Means over many steps are written here as
well: of an epoch's losses, and of the losses of each category.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.collector_set import CollectorSet
from bedside.collect.model.optimizer_coverage import parameter_table
from bedside.collect.step.loss_by_category import Categories
from bedside.collect.step.step_rows import StepRows
from bedside.monitor.recorder import Recorder
from bedside.monitor.run_events import RunEvents

LIVE_CATEGORIES = 500  # more than these are written, but not kept in memory for the live view (12 KB each)


class Flusher:
    """Transfers pending numbers, from a device or the CPU, and writes them down."""

    def __init__(
        self,
        recorder: Recorder,
        events: RunEvents,
        context: WatchContext,
        step_rows: StepRows,
        collectors: CollectorSet,
        categories: Categories,
    ) -> None:
        self._recorder = recorder
        self._events = events
        self._context = context
        self._step_rows = step_rows
        self._collectors = collectors
        self._categories = categories
        self._epoch_loss = (0.0, 0)  # sum and number

    def flush(self) -> NDArray[np.float64]:
        """Write everything pending; returns the losses of its steps."""
        self._context.queue.transfer()
        self._categories.collect()
        losses = self._step_rows.flush()
        self._events.accumulation(self._step_rows.divided)
        self._events.clipping(self._step_rows.clipping)
        self._collectors.each(self._collect_rows)
        learnt, self._context.facts = self._context.facts, {}
        self._recorder.facts(learnt)
        total, count = self._epoch_loss
        self._epoch_loss = (total + float(losses.sum()), count + len(losses))
        return losses

    def _collect_rows(self, collector: Collector) -> None:
        for rows in collector.rows():
            times = [time.time()] * len(rows.steps)
            self._recorder.rows(rows.name, rows.columns, list(rows.steps), times, rows.values, rows.dtype)
        for event in collector.events():
            self._recorder.happened(event)

    def epoch_mean(self, *, begun: bool) -> None:
        """The mean loss of the epoch that is over, if one had begun: steps before the first belong to none."""
        (total, count), self._epoch_loss = self._epoch_loss, (0.0, 0)
        if count and begun:
            self._recorder.metric(self._events.step, "loss_epoch", total / count)

    def category_means(self, *, validating: bool = False) -> None:
        """The mean loss of every category since the last flush, and what was noticed about its normalisation."""
        means = self._categories.report(validating=validating)
        vital = "val/loss_by_category" if validating else "loss_by_category"
        step = self._events.step
        for category, mean in means.items():
            self._recorder.metric(step, vital, mean, category, live=len(means) <= LIVE_CATEGORIES)
        news, self._categories.news = self._categories.news, []
        for what in news:
            self._events.note("categories_not_normalised", {"what": what})

    def parameters(self) -> None:
        """The table of them, with how many steps each got a gradient."""
        context, step_rows = self._context, self._step_rows
        table = parameter_table(
            context.model,
            context.layout,
            context.optimizers,
            step_rows.gradient_steps.tolist(),
            step_rows.watched_steps.tolist(),
        )
        self._recorder.parameters(table)
