"""The Monitor: what `watch` returns, and the one object that joins the listeners, the record and the alarms."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.optim import Optimizer

import bedside.report  # noqa: F401  (so that a Diagnosis can be printed)
from bedside.analysis.run_summary import run_summary
from bedside.collect.collector import Collector, Patient
from bedside.collect.collector_set import Ensemble
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.forward_hooks import Door, Forward
from bedside.collect.hooks.nested_steps import outermost
from bedside.collect.model.gradient_order import Arrival
from bedside.collect.model.parameter_layout import lay_out
from bedside.collect.model.watched_parameters import Parameters
from bedside.collect.reading.device_queue import Freight
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.partial_updates import PARTS
from bedside.collect.sampling.budget import LOOKING, UNSEEN, Governor
from bedside.collect.sampling.flush_timing import Flushes
from bedside.collect.sampling.intervals import FULL_STEPS, Cadence
from bedside.collect.step.fast_path import Quiet
from bedside.collect.step.fast_path_control import Resting
from bedside.collect.step.loss import LossListener
from bedside.collect.step.loss_by_category import EVERY as REPORT_CATEGORIES
from bedside.collect.step.loss_by_category import Categories
from bedside.collect.step.optimizer_step import StepListener, has_closure
from bedside.collect.step.scaler_step import Scaling
from bedside.collect.step.step_data import Beat
from bedside.collect.step.step_rows import Pulse
from bedside.diagnosis.engine import examine
from bedside.errors import BadOption, BedsideError, say, warn_safely
from bedside.finding import Diagnosis, Finding
from bedside.monitor.alarms import SHARE, Alarms, Voice
from bedside.monitor.flushing import Writing
from bedside.monitor.logged import LoggedMetrics
from bedside.monitor.recorder import Notes
from bedside.monitor.run_events import Events
from bedside.record.sqlite.writer import Store
from bedside.settings import Settings
from bedside.sinks.ending import ending_of
from bedside.sinks.forwarding import Forwarding
from bedside.sinks.sink import Ending, Sink

LOOK_OVER = 5.0  # seconds between two looks at whether model and optimizers still hold the same tensors

Method = TypeVar("Method", bound=Callable[..., Any])


def _unharmed(method: Method) -> Method:
    """The patient is never harmed by the monitor: a listener that fails is switched off with one warning."""

    @functools.wraps(method)
    def safely(self: Monitor, *args: Any, **kwargs: Any) -> Any:
        if self._off:
            return None
        within, self._timed = self._timed, True
        began = time.perf_counter()
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if error is self._voice.theirs:  # raised by the user's own on_finding, to stop the run
                raise
            self._switch_off(method.__name__, error)
        finally:
            self._timed = within
            if not within:  # one that calls another is timed with it
                self._governor.total += time.perf_counter() - began

    return safely  # type: ignore[return-value]


def _called_by_user(method: Method) -> Method:
    """What the user calls raises for what the user did wrong, and for nothing else."""

    @functools.wraps(method)
    def safely(self: Monitor, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except BedsideError:
            raise
        except Exception as error:
            if error is self._voice.theirs:
                raise
            if not self._off:
                self._switch_off(method.__name__.strip("_"), error)

    return safely  # type: ignore[return-value]


class Monitor:
    """A watched run. `log` what else you know, `diagnose` at any time, `close` when done (or leave the `with`)."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        store: Store,
        *,
        rank: int = 0,
        gradients: bool = True,
        updates: bool = True,
        collectors: Sequence[type[Collector]] = (),
        config: Mapping[str, Any] | None = None,
        budget: float | None = None,
        on_finding: Callable[[Finding], None] | None = None,
        quiet: bool = False,
        settings: Settings | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self.model = model
        self.optimizers = list(optimizers)
        self.rank = rank
        self._notes = notes = Notes(store, rank)
        self._events = Events(notes, lambda: self.step)
        self._voice = Voice(on_finding, silent=quiet)
        settings = settings or Settings()
        self._logged = LoggedMetrics(notes.logged, settings.map, notes.has)
        self._rules = settings.rules()
        self._off: str = ""
        self._timed = False  # by whoever called
        self._closed = False
        self._pid = os.getpid()
        self._validating = False
        self._arrival = Arrival()
        self._reported_at = -1
        layout = lay_out(model)
        self._freight = Freight()
        self._cadence = Cadence()
        self._governor = Governor(self._cadence, budget, fixed=_several_ranks())
        self._categories = Categories(self._freight)
        self._categories_told = 0  # the step of the last report
        self._door = Door(model)
        self._patient = patient = Patient(model, self.optimizers, self._freight, self._door, layout, self.rank)
        self._ensemble = Ensemble(collectors, patient, self._events.failed)
        if sinks and rank == 0:
            notes.forwarding = Forwarding(sinks, notes.run_dir)
        notes.facts(config or {})
        self._pulse = pulse = Pulse(notes.rows)
        self.quiet = Quiet(self.wake, self._step_begins, self._step_ended, self._rested, self._cannot_read)
        self._losses = losses = LossListener(judge_clearing=len(self.optimizers) == 1)
        self._steps = steps = StepListener(
            self.optimizers,
            layout,
            losses,
            self._freight,
            self._beat_finished,
            self._governor,
            first_step=notes.first_step,
            gradients=gradients,
            updates=updates,
        )
        if updates and steps.staggers:
            notes.facts({"updates_in_parts": PARTS})
        notes.replay()
        share = LOOKING * budget / UNSEEN if budget else SHARE
        self._alarms = Alarms(notes.view, self._speak, share, self._rules, self._voice.take_back)
        self._flushes = Flushes()
        self._looked_over = self._flushes.last
        self._writing = Writing(notes, self._events, patient, pulse, self._ensemble, self._categories)
        self._resting = Resting(
            self.quiet, patient, self._ensemble, self._arrival, losses, steps, pulse, self._flushes, self._governor
        )
        self._scaling = Scaling(patient, steps)
        self._parameters = Parameters(patient, self._arrival, steps, pulse, self._events.coverage, self.wake)
        pulse.start_counting(layout)
        self._handles = [
            each.register_step_post_hook(outermost(self.quiet.after_step, each)) for each in self.optimizers
        ]
        self._resting.hear_beginnings()
        self._parameters.check_coverage()
        patches.listen(self)
        if self._ensemble:
            self._door.open(self._forward_begins, self.wake, self._ensemble.failed)
        atexit.register(self._at_exit)
        self._resting.attach_collectors()

    # What the user calls.

    @property
    def run_dir(self) -> Path:
        """The folder the record is written to."""
        return self._notes.run_dir

    @property
    def step(self) -> int:
        """The number of the next step; equally, how many steps have been watched so far."""
        return self._resting.step

    @_called_by_user
    def log(self, metrics: Mapping[str, Any] | None = None, /, *, n: float | None = None, **more: Any) -> None:
        """Whatever else you know: `monitor.log(val_loss=0.3, accuracy=0.91)`.

        Names are read as those of any log: `val_loss`, `eval/loss`, `dev_loss` and `Loss/val` are the validation loss.
        A name without a split is a validation metric when it is logged together with one that has it, or inside
        `with monitor.validation():`; there, several calls are averaged, weighted by `n`, the number of samples.
        `step=`, `epoch=` and `tokens=` say when, and are no metrics.
        """
        self._still_open("log")
        vitals = self._logged.log({**(metrics or {}), **more}, self._events.step, n)
        self._ensemble.tell("metrics_logged", vitals)

    @_called_by_user
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
            raise error.at_the_door("monitor.categories(per_sample_loss, labels)") from None
        if not self._validating and self.step - self._categories_told >= REPORT_CATEGORIES:
            self._tell_categories()

    def _tell_categories(self, validating: bool = False) -> None:
        self._flush()
        self._writing.category_means(validating=validating)
        if not validating:
            self._categories_told = self.step

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Marks an evaluation: what is logged inside is a validation metric."""
        self._still_open("validation")
        self._validation_begins()
        try:
            yield
        finally:
            self._validation_ends()

    @_called_by_user
    def _validation_begins(self) -> None:
        self._validating = self._door.validating = True
        self._logged.begin_evaluation()
        self.wake()
        self._flush()  # an evaluation may take long, and the steps before it should be safe meanwhile
        self._events.note("validation", {"moment": "begin"})

    @_called_by_user
    def _validation_ends(self) -> None:
        self._validating = self._door.validating = False
        self._logged.end_evaluation(self._events.step)
        self._events.note("validation", {"moment": "end"})
        self._tell_categories(validating=True)

    @_called_by_user
    def epoch(self, number: int | None = None) -> None:
        """An epoch begins here (optional): the mean training loss of the one before is kept beside the steps."""
        self._still_open("epoch")
        self.wake()
        self._flush()
        previous = self._steps.epoch
        self._writing.epoch_mean(begun=previous is not None)
        self._tell_categories()
        self._steps.epoch = float(number if number is not None else (0 if previous is None else previous + 1))
        self._events.note("epoch", {"epoch": self._steps.epoch})

    def summary(self, window: int = 200) -> dict[str, float | int | None]:
        """The run so far in a few numbers: last and best loss, trend over a window, gradients, clipping, bad steps."""
        self._catch_up()
        return run_summary(self._notes.recorded(), window)

    def diagnose(self) -> Diagnosis:
        """What is wrong so far, from everything recorded."""
        self._catch_up()
        self._reported_at = self.step
        try:
            return examine(self._notes.recorded(), self._rules)
        except Exception:  # a record that can no longer be read; memory holds the same run, downsampled
            return examine(self._notes.view(), self._rules)

    @_called_by_user
    def _catch_up(self) -> None:
        """Bring everything that waits into the record."""
        self._flush()
        if not self._closed:
            self._events.unused_gradients(self._losses.waiting)
            self._writing.parameters()
            self._notes.commit()

    def close(self, finished: bool | None = True) -> None:
        """Stop listening: every hook and patch is removed, the record is closed, and the report is printed."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        self._detach()
        try:
            self._finish()
            self._notes.end_forwarding(self._events.step, self._ending)
        finally:
            self._notes.close(finished)
        heard = self.step or self._losses.waiting
        if not self._voice.silent and self.rank == 0 and self._reported_at != self.step and heard:
            self._reported_at = self.step
            self._report()

    @_called_by_user
    def _report(self) -> None:
        say(str(self.diagnose()))

    def _ending(self) -> Ending:
        return ending_of(examine(self._notes.recorded(), self._rules), self.run_dir)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close(finished=kind is None)
        except Exception as ours:
            if kind is None:  # with an exception of the user's under way, theirs is the one to see
                raise
            warn_safely(f"bedside could not close the record: {ours}")

    # What the patches and hooks call, in the order of the loop.

    @_unharmed
    def wake(self) -> None:
        """This step is not a quiet one after all: whoever listens is told what was missed of it."""
        if self.quiet.on:
            self._resting.wake()

    def _forward_begins(self, forward: Forward) -> None:
        if self.quiet.on:
            self._timed = True  # by the door
            try:
                self.wake()
            finally:
                self._timed = False
        self._ensemble.tell("forward_begins", forward)

    @_unharmed
    def scaled(self, loss: Any, scaled: Any) -> None:
        self._losses.scaled(loss, scaled)

    @_unharmed
    def before_backward(self, tensors: Any, gradient: Any) -> None:
        parameters = self._patient.layout.parameters
        self._arrival.listen(parameters)
        self._losses.before(tensors, gradient, parameters)
        self._door.before_backward()
        if self._ensemble.wants("backward_begins"):
            self._ensemble.tell("backward_begins", tensors, self._losses.coming)

    @_unharmed
    def after_backward(self) -> None:
        ours = self._losses.after()
        self._door.after_backward(ours)
        self._ensemble.tell("backward_ended", ours)
        if ours:
            self._parameters.backward_ended()

    @_unharmed
    def clipped_by_norm(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Any) -> None:
        if not isinstance(total_norm, Tensor):
            return
        self.wake()  # a clip call that a quiet step does not have
        self._steps.clipped(parameters, max_norm, total_norm)
        if self._ensemble.wants("clipped"):
            self._ensemble.tell("clipped", parameters, max_norm, total_norm)

    @_unharmed
    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        self._ensemble.tell("loss_computed", function, prediction, target)

    @_unharmed
    def scheduler_stepped(self, scheduler: Any) -> None:
        self._ensemble.tell("scheduler_stepped", scheduler)

    @_unharmed
    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        self.wake()
        self._scaling.before(scaler, optimizer)

    @_unharmed
    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        self._scaling.after(optimizer)

    @_unharmed
    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._scaling.step_begins(optimizer)
        closure = has_closure(args, kwargs)
        self._ensemble.tell("step_begins", optimizer, closure)
        self._steps.before(optimizer, closure)

    @_unharmed
    def _step_ended(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        closure = has_closure(args, kwargs)
        self._ensemble.tell("step_ended", optimizer, closure)
        self._steps.after(optimizer, closure)

    @_unharmed
    def _finish(self) -> None:
        """The last numbers and the last look; a failure here must not cost the user's program its end."""
        if self._steps.mid_round:
            self._steps.close_step()
        self._events.unused_gradients(self._losses.waiting)
        self._flush(final=True)

    # How they are joined.

    @_unharmed
    def _rested(self) -> None:
        """The last of some quiet steps is over."""
        self.wake()
        self._losses.rested()
        self._between_steps(self._steps.next_step - 1)

    def _beat_finished(self, beat: Beat) -> None:
        self._pulse.add(beat)
        sampled = bool(self._ensemble.attached)
        if sampled:
            self._ensemble.detach(beat.step, self._governor)
        self._ensemble.next_step()
        self._governor.total += self._door.spent
        self._door.spent = 0.0
        self._door.step_ended()
        if self._door.blind:
            self._events.blind(self.model)
        self._parameters.step_ended()
        self._patient.ended = self._steps.last_end
        # The step after a sampled one is listened to as well: some compare two that follow each other.
        self._between_steps(beat.step, may_rest=not sampled)

    def _between_steps(self, step: int, may_rest: bool = True) -> None:
        alarming, on_device = self._pulse.alarming, self._freight.full
        if self._flushes.due(step, self._steps.last_end, len(self._pulse), alarming=alarming, on_device=on_device):
            self._flush()
        self._resting.choose(may_rest)

    def _flush(self, final: bool = False) -> None:
        if (self._off or self._closed) and not final:
            return
        began, looking = time.perf_counter(), self._governor.looking
        self._resting.settle()
        steps = len(self._pulse)
        losses = self._writing.flush()
        self._flushes.last = time.perf_counter()
        if final or self.step <= FULL_STEPS or self._flushes.last - self._looked_over > LOOK_OVER:
            self._looked_over = self._flushes.last
            self._parameters.look_over()
        if self.rank == 0 and self.step and (final or self._alarms.due(self.step - 1, losses)):
            self._governor.looking += self._alarms.look(self._writing.parameters, final=final)
        self._notes.commit_if_due()
        if self._governor.summing > native.LOADING and self._losses.at_hand and not final:
            native.load_in_background()
        self._governor.wrote(time.perf_counter() - began - (self._governor.looking - looking), steps)
        if final:
            self._writing.category_means()
            self._writing.parameters()
            self._events.note("cost", self._governor.described())
            self._notes.commit()

    def _cannot_read(self, error: Exception) -> None:
        """Reading at a quiet step failed; as with `_unharmed`, the training goes on."""
        self._switch_off("quiet step", error)

    def _still_open(self, call: str) -> None:
        if self._closed:
            raise BadOption(
                f"monitor.{call}() was called after the monitor was closed at step {self.step}.",
                expected="calls before close() or inside the `with bedside.watch(...)` block",
                try_=f"monitor = bedside.watch(model, optimizer, resume={str(self._notes.run_dir)!r})",
            )

    def _speak(self, finding: Finding) -> None:
        self._cadence.burst(self.step)
        self._notes.finding(self._events.step, finding)
        self._voice.say(finding)

    def _detach(self) -> None:
        self.quiet.on = False
        self._ensemble.detach(self.step, self._governor)
        self._door.close()
        self._ensemble.each(lambda c: c.end())
        patches.stop_listening(self)
        while self._handles:
            self._handles.pop().remove()
        self._resting.ignore_beginnings()
        self._arrival.stop()

    def _switch_off(self, where: str, error: Exception) -> None:
        self._off = f"{where}: {type(error).__name__}: {error}"
        self._detach()
        with suppress(Exception):  # what was heard until then is kept, unless it is writing that fails
            self._resting.settle()
            self._writing.flush()
            self._notes.commit()
        self._events.switched_off(where, self._off)

    def _at_exit(self) -> None:
        crashed = getattr(sys, "last_type", None)
        self.close(finished=False if crashed else None)
        if crashed is not None and issubclass(crashed, KeyboardInterrupt):
            _end_by_interrupt()


def _end_by_interrupt() -> None:
    """Python ends a program that Ctrl-C stopped by that signal (130 in a shell), but forgets to if anything compiled
    code from text meanwhile, as importing a module with dataclasses for the report does. This reminds it."""
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")


def _several_ranks() -> bool:
    return int(os.environ.get("WORLD_SIZE", 1)) > 1
