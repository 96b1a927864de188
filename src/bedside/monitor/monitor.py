"""The Monitor: what `watch` returns and the user calls. It puts the parts together, each after those that it needs."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy.ma  # noqa: F401  (np.unique loads it when it is first called: not in the user's first step)
from torch import nn
from torch.optim import Optimizer

import bedside.report  # noqa: F401  (so that a Diagnosis can be printed)
from bedside.analysis.run_summary import run_summary
from bedside.collect.collector import WatchContext
from bedside.collect.collector_set import CollectorSet, Make
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.forward_hooks import ForwardHooks
from bedside.collect.hooks.optimizer_hooks import OptimizerHooks
from bedside.collect.model.gradient_order import GradientOrder
from bedside.collect.model.parameter_layout import lay_out
from bedside.collect.model.watched_parameters import Parameters
from bedside.collect.probes import Probes
from bedside.collect.reading.device_queue import DeviceQueue
from bedside.collect.reading.partial_updates import PARTS
from bedside.collect.sampling.budget import ALARM_SHARE, UNTIMED_FACTOR, Budget
from bedside.collect.sampling.flush_timing import Flushes
from bedside.collect.sampling.intervals import Intervals
from bedside.collect.step.fast_path import FastPath
from bedside.collect.step.fast_path_control import FastPathControl
from bedside.collect.step.loss import LossListener
from bedside.collect.step.loss_by_category import REPORT_INTERVAL as REPORT_CATEGORIES
from bedside.collect.step.loss_by_category import Categories
from bedside.collect.step.optimizer_step import StepListener
from bedside.collect.step.step_count import StepCount
from bedside.collect.step.step_rows import StepRows
from bedside.diagnosis.engine import examine
from bedside.errors import BadOption, pass_on_interrupts, unknown_name
from bedside.finding import Diagnosis, Finding
from bedside.incident.incidents import Incidents
from bedside.monitor import ranks
from bedside.monitor.alarms import SHARE, AlarmPrinter, AlarmReporter, Alarms, early_seconds
from bedside.monitor.dispatcher import Dispatcher
from bedside.monitor.flush_cycle import FlushCycle
from bedside.monitor.flushing import Flusher
from bedside.monitor.logged import LoggedMetrics
from bedside.monitor.recorder import Recorder
from bedside.monitor.run_events import RunEvents
from bedside.monitor.safeguards import called_by_user
from bedside.record.run import Run
from bedside.record.sqlite.writer import Store
from bedside.settings import Settings
from bedside.sinks.final_report import ending_of
from bedside.sinks.forwarding import Forwarding
from bedside.sinks.sink import Ending, Sink
from bedside.stderr import say, warn_safely

OPEN: list[Monitor] = []  # all that are not closed
Answer = TypeVar("Answer")


class Monitor:
    """A watched run. `log` what else you know, `diagnose` at any time, `close` when done (or leave the `with`)."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        store: Store,
        *,
        rank: int = 0,
        first_step: int | None = None,
        gradients: bool = True,
        updates: bool = True,
        by_parameter: bool = False,
        collectors: Sequence[Make] = (),
        config: Mapping[str, Any] | None = None,
        budget: float | None = None,
        on_finding: Callable[[Finding], None] | None = None,
        quiet: bool = False,
        settings: Settings | None = None,
        sinks: Sequence[Sink] = (),
        incidents: Incidents | None = None,
        probes: bool = True,
    ) -> None:
        self.model = model
        self.optimizers = list(optimizers)
        self.rank = rank
        settings = settings or Settings()
        self._rules = settings.rules()
        self._ended_by: BaseException | None = None
        self._pid = os.getpid()
        self._validating = False
        self._reported_at = -1
        self._categories_reported_at = 0  # the step of the last report

        self._recorder = recorder = Recorder(store, rank, first_step)
        fast_path = FastPath()
        self._count = count = StepCount(recorder.first_step, fast_path)
        self._events = events = RunEvents(recorder, count)
        self._printer = printer = AlarmPrinter(on_finding, silent=quiet)
        self._logged = LoggedMetrics(recorder.logged, settings.map, recorder.has)

        layout, queue, intervals = lay_out(model), DeviceQueue(), Intervals()
        limits = Budget(intervals, budget, fixed=ranks.several_ranks())
        self._categories = Categories(queue)
        self._forward_hooks = ForwardHooks(model, allowed := Probes(probes))
        hooks = self._forward_hooks
        context = WatchContext(model, self.optimizers, queue, hooks, layout, rank, allowed, limits.affords)
        context.unsettled_steps = fast_path.__len__
        if incidents is not None:
            announce: Callable[[str], None] = _nothing if quiet else say
            make = functools.partial(incidents.listener, run_dir=recorder.run_dir, count=count, announce=announce)
            collectors = [*collectors, make]
        self._collectors = CollectorSet(collectors, context, events.failed)
        if sinks and rank == 0:
            recorder.forwarding = Forwarding(sinks, recorder.run_dir)
        recorder.facts(config or {})
        described = ranks.described(model, rank)
        if described:
            recorder.join_ranks(described)

        self._losses = losses = LossListener(judge_clearing=len(self.optimizers) == 1)
        self._steps = steps = StepListener(
            self.optimizers, layout, losses, queue, limits, count, gradients=gradients, updates=updates
        )
        self._step_rows = step_rows = StepRows(recorder.rows, by_parameter=by_parameter)
        step_rows.hand_clipping = steps.hand_clipping
        step_rows.start_counting(layout)
        if updates and steps.updates_in_parts:
            recorder.facts({"updates_in_parts": PARTS})
        recorder.replay()

        gradient_order, timing = GradientOrder(), Flushes()
        optimizer_hooks = OptimizerHooks(self.optimizers, incidents.guard_last if incidents is not None else None)
        control = FastPathControl(
            fast_path, context, self._collectors, gradient_order, losses, steps, count, step_rows, timing, limits,
            optimizer_hooks,
        )  # fmt: skip
        parameters = Parameters(context, gradient_order, steps, step_rows, events.coverage, control.leave_fast_path)
        self._flusher = Flusher(recorder, events, context, step_rows, self._collectors, self._categories)
        share = ALARM_SHARE * budget / UNTIMED_FACTOR if budget else SHARE
        reporter = AlarmReporter(recorder, events, count, intervals, printer)
        early = functools.partial(early_seconds, limits)
        alarms = Alarms(recorder.view, reporter.begun, share, self._rules, printer.withdraw, early)
        cycle = FlushCycle(
            recorder, events, context, count, losses, step_rows, limits, timing, control, parameters, self._flusher,
            alarms, incidents,
        )  # fmt: skip
        self.dispatcher = Dispatcher(
            context, self.optimizers, self._collectors, events, printer, limits, count, gradient_order, losses, steps,
            step_rows, optimizer_hooks, control, parameters, cycle, incidents,
        )  # fmt: skip
        try:
            self.dispatcher.attach()
            atexit.register(self._at_exit)
            OPEN.append(self)
        except BaseException:
            self.dispatcher.detach()
            raise

    # What the user calls.

    @property
    def run_dir(self) -> Path:
        """The folder the record is written to."""
        return self._recorder.run_dir

    @property
    def step(self) -> int:
        """The number of the next step; equally, how many steps have been watched so far."""
        return self._count.next

    @called_by_user
    def log(
        self, metrics: Mapping[str, Any] | None = None, /, *, n: float | None = None, reduce: bool = False, **more: Any
    ) -> None:
        """Whatever else you know: `monitor.log(val_loss=0.3, accuracy=0.91)`.

        Names are read as those of any log: `val_loss`, `eval/loss`, `dev_loss` and `Loss/val` are the validation loss.
        A name without a split is a validation metric when it is logged together with one that has it, or inside
        `with monitor.validation():`; there, several calls are averaged, weighted by `n`, the number of samples.
        `step=`, `epoch=` and `tokens=` say when, and are not metrics.

        With several ranks, what rank 0 logs is shown. `reduce=True` shows the mean over the samples of all ranks
        instead: every rank logs its own mean and its own `n`. No rank waits for another; readers add them up.
        """
        self._still_open("log")
        vitals = self._logged.log({**(metrics or {}), **more}, self._events.step, n, reduce)
        self._collectors.notify("metrics_logged", vitals)

    @called_by_user
    def categories(self, per_sample_loss: Any, labels: Any, *, lengths: Any = None, mask: Any = None) -> None:
        """Loss by category: one loss per sample, and the category of each.

        Args:
            per_sample_loss: One loss per sample (`reduction="none"`), or one per token of each.
            labels: The category of each sample: names, or a tensor of integers.
            lengths: How many labels each loss is a sum over; it is divided by that.
            mask: For losses per token: which of them count.
        """
        self._still_open("categories")
        try:
            self._categories.add(per_sample_loss, labels, lengths, mask, validating=self._validating)
        except BadOption as error:
            raise error.with_call("monitor.categories(per_sample_loss, labels)") from None
        if not self._validating and self.step - self._categories_reported_at >= REPORT_CATEGORIES:
            self._report_categories()

    def _report_categories(self, validating: bool = False) -> None:
        self.dispatcher.flush()
        self._flusher.category_means(validating=validating)
        if not validating:
            self._categories_reported_at = self.step

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Marks an evaluation: what is logged inside is a validation metric."""
        self._still_open("validation")
        self._validation_begins()
        try:
            yield
        finally:
            self._validation_ends()

    @called_by_user
    def _validation_begins(self) -> None:
        self._validating = self._forward_hooks.validating = True
        self._logged.begin_evaluation()
        self.dispatcher.leave_fast_path()
        self.dispatcher.flush()  # an evaluation may take long, and the steps before it should be safe meanwhile
        self._events.note("validation", {"moment": "begin"})

    @called_by_user
    def _validation_ends(self) -> None:
        self._validating = self._forward_hooks.validating = False
        self._logged.end_evaluation(self._events.step)
        self._events.note("validation", {"moment": "end"})
        self._report_categories(validating=True)

    @called_by_user
    def epoch(self, number: int | None = None) -> None:
        """An epoch begins here (optional): the mean training loss of the one before is kept beside the steps."""
        self._still_open("epoch")
        self.dispatcher.leave_fast_path()
        self.dispatcher.flush()
        previous = self._steps.epoch
        self._flusher.epoch_mean(begun=previous is not None)
        self._report_categories()
        self._steps.epoch = float(number if number is not None else (0 if previous is None else previous + 1))
        self._events.note("epoch", {"epoch": self._steps.epoch})

    def combine_losses(self, how: Literal["sum", "mean"]) -> None:
        """How the losses of a step's micro-batches make up the step's, where that is not to be inferred.

        `sum`: each is already divided by the size of the whole step, as in a loop that counts its tokens first. `mean`:
        gradients are averaged outside of `.grad`, as Keras does.
        """
        if how not in ("sum", "mean"):
            raise unknown_name("way to combine losses", str(how), ("sum", "mean"), 'monitor.combine_losses("sum")')
        self._step_rows.accumulation.known_as = how
        self._losses.kept_elsewhere = how == "mean"

    def summary(self, window: int = 200) -> dict[str, float | int | None]:
        """The run so far in a few numbers: last and best loss, trend over a window, gradients, clipping, bad steps."""
        self._catch_up()
        return self._ask(lambda run: run_summary(run, window))

    def diagnose(self) -> Diagnosis:
        """Diagnose the run so far, from everything recorded."""
        self._catch_up()
        self._reported_at = self.step
        return self._ask(lambda run: examine(run, self._rules))

    def _ask(self, question: Callable[[Run], Answer]) -> Answer:
        """Examine the record; if it cannot be read any more, the run in memory, which is the same one, downsampled."""
        try:
            return question(self._recorder.recorded())
        except Exception as error:
            pass_on_interrupts(error)
            return question(self._recorder.view())

    @called_by_user
    def _catch_up(self) -> None:
        """Bring everything that waits into the record."""
        self.dispatcher.flush()
        if not self.dispatcher.closed:
            self._events.unused_gradients(self._losses.waiting)
            self._flusher.parameters()
            self._recorder.commit()

    def close(self, finished: bool | None = True) -> None:
        """Stop listening: every hook and patch is removed, the record is closed, and the report is printed."""
        if os.getpid() != self._pid:
            return
        OPEN[:] = [each for each in OPEN if each is not self]
        self.dispatcher.detach()  # also if it is closed already: an interrupt may have come between
        if self.dispatcher.closed:
            return
        self.dispatcher.closed = True
        atexit.unregister(self._at_exit)
        try:
            if self._ended_by is not None and ranks.several_ranks():
                self._events.note("ended", ranks.ending(self._ended_by))
            self.dispatcher.finish()
            self._recorder.end_forwarding(self._events.step, self._ending)
        finally:
            self._close_record(finished)
        observed = self.step or self._losses.waiting
        if not self._printer.silent and self.rank == 0 and self._reported_at != self.step and observed:
            self._reported_at = self.step
            self._report()

    def _close_record(self, finished: bool | None) -> None:
        """Whatever is wrong with it, the program goes on: what follows may be the user's `torch.save`."""
        try:
            self._recorder.close(finished)
        except Exception as error:
            pass_on_interrupts(error)
            warn_safely(f"bedside could not close the record ({type(error).__name__}: {error}).")

    def close_for_another(self) -> None:
        """The same model is watched by a new monitor (a notebook cell was run again): end without a report."""
        if not self.dispatcher.closed and os.getpid() == self._pid:
            self._printer.silent = True
            self.close(finished=None)

    @called_by_user
    def _report(self) -> None:
        say(str(self.diagnose()))

    def _ending(self) -> Ending:
        return ending_of(self._ask(lambda run: examine(run, self._rules)), self.run_dir)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if error is not None:
            self._ended_by = error
            self.dispatcher.training_failed(error)
        try:
            self.close(finished=kind is None)
        except Exception as ours:
            if kind is None:  # with an exception of the user's under way, theirs is the one to see
                raise
            warn_safely(f"bedside could not close the record: {ours}")

    def _still_open(self, call: str) -> None:
        if self.dispatcher.closed:
            raise BadOption(
                f"monitor.{call}() was called after the monitor was closed at step {self.step}.",
                expected="calls before close() or inside the `with bedside.watch(...)` block",
                try_=f"monitor = bedside.watch(model, optimizer, resume={str(self._recorder.run_dir)!r})",
            )

    def _at_exit(self) -> None:
        crashed = getattr(sys, "last_type", None)
        if (error := getattr(sys, "last_value", None)) is not None:
            self._ended_by = error
            self.dispatcher.training_failed(error)
        self.close(finished=False if crashed else None)
        if crashed is not None and issubclass(crashed, KeyboardInterrupt):
            _end_by_interrupt()


def monitors() -> list[Monitor]:
    """The active ones: neither closed nor switched off."""
    return [each for each in OPEN if any(each.dispatcher is listening for listening in patches.DISPATCHERS)]


def _nothing(text: str) -> None:
    """Says nothing."""


def _end_by_interrupt() -> None:
    """Python ends a program that Ctrl-C stopped by that signal (130 in a shell), but forgets to if anything compiled
    code from text meanwhile, as importing a module with dataclasses for the report does. This reminds it."""
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")
