"""A flush and what goes with it: fast-path steps are merged with the others, pending numbers are written, and now and
then the parameters are checked, the live rules run, and the record is committed.

What is written is up to `flushing.py`, and when there is a flush to `flush_timing.py` in `collect/sampling`.
"""

from __future__ import annotations

import time

from bedside.collect.collector import WatchContext
from bedside.collect.model.watched_parameters import Parameters
from bedside.collect.reading.native import sums as native
from bedside.collect.sampling.budget import Budget
from bedside.collect.sampling.flush_timing import Flushes
from bedside.collect.sampling.intervals import EARLY_STEPS
from bedside.collect.step.fast_path_control import FastPathControl
from bedside.collect.step.loss import LossListener
from bedside.collect.step.step_count import StepCount
from bedside.collect.step.step_rows import StepRows
from bedside.incident.incidents import Incidents
from bedside.monitor.alarms import Alarms
from bedside.monitor.flushing import Flusher
from bedside.monitor.recorder import Recorder
from bedside.monitor.run_events import RunEvents
from bedside.record.run import Run

CHECK_INTERVAL_SECONDS = 5.0  # seconds between two looks at whether model and optimizers still hold the same tensors


class FlushCycle:
    """Brings the record up to date, and accounts for the time that takes."""

    def __init__(
        self,
        recorder: Recorder,
        events: RunEvents,
        context: WatchContext,
        count: StepCount,
        losses: LossListener,
        step_rows: StepRows,
        budget: Budget,
        timing: Flushes,
        fast_path_control: FastPathControl,
        parameters: Parameters,
        flusher: Flusher,
        alarms: Alarms,
        incidents: Incidents | None,
    ) -> None:
        self._recorder = recorder
        self._events = events
        self._context = context
        self._count = count
        self._losses = losses
        self._step_rows = step_rows
        self._budget = budget
        self.timing = timing
        self._fast_path_control = fast_path_control
        self._parameters = parameters
        self._flusher = flusher
        self.alarms = alarms
        self._incidents = incidents
        self.looked_over = timing.last  # when parameters were, by the clock

    def is_due(self, step: int, ended: float | None) -> bool:
        """After this step, which ended then."""
        alarming, on_device = self._step_rows.alarming, self._context.queue.full
        return self.timing.due(step, ended, len(self._step_rows), alarming=alarming, on_device=on_device)

    def rescue(self) -> None:
        """When the monitor is switched off, keep what was observed until then."""
        self._fast_path_control.settle()
        self._flusher.flush()
        self._recorder.commit()

    def flush(self, *, final: bool = False) -> None:
        """All of it; the `final` flush leaves nothing waiting."""
        began, alarm_seconds = time.perf_counter(), self._budget.alarm_seconds
        self._fast_path_control.settle()
        steps = len(self._step_rows)
        losses = self._flusher.flush()
        self.timing.last = time.perf_counter()
        if final or self._count.next <= EARLY_STEPS or self.timing.last - self.looked_over > CHECK_INTERVAL_SECONDS:
            self.looked_over = self.timing.last
            self._parameters.look_over()
        if self._context.rank == 0 and self._count.next and (final or self.alarms.due(self._count.next - 1, losses)):
            self._budget.alarm_seconds += self.alarms.look(self._prepare_look, final=final)
        self._recorder.commit_if_due()
        if self._incidents is not None:
            self._incidents.recorded(self._committed)
        budget = self._budget
        worth = native.is_worth_loading(budget.sum_seconds, budget.reading_seconds, budget.limit is not None)
        if worth and budget.affords(native.LOADING_SECONDS) and self._losses.on_cpu and not final:
            native.load_in_background()
        self._budget.wrote(time.perf_counter() - began - (self._budget.alarm_seconds - alarm_seconds), steps)
        if final:
            self._flusher.category_means()
            self._flusher.parameters()
            self._events.note("cost", self._budget.described())
            self._recorder.commit()

    def _prepare_look(self) -> None:
        self._flusher.parameters()
        self._recorder.pick_up()

    def _committed(self) -> Run:
        self._recorder.commit()
        return self._recorder.recorded()
