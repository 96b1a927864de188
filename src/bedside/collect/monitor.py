"""The Monitor: what `watch` returns, and the one object that joins the listeners, the record and the alarms."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect import flushes, logged, native, patches
from bedside.collect.alarms import SHARE, Alarms, print_alarm
from bedside.collect.arrival import Arrival
from bedside.collect.beat import Beat
from bedside.collect.cadence import FULL_STEPS, Cadence
from bedside.collect.categories import EVERY as REPORT_CATEGORIES
from bedside.collect.categories import Categories
from bedside.collect.collector import Collector, Patient
from bedside.collect.coverage import coverage, parameter_table
from bedside.collect.door import Door, Forward
from bedside.collect.ensemble import Ensemble
from bedside.collect.flushes import Flushes
from bedside.collect.freight import Freight
from bedside.collect.governor import LISTENING, LOOKING, UNSEEN, Governor
from bedside.collect.layout import Layout, lay_out
from bedside.collect.loss import LossListener
from bedside.collect.notes import Notes
from bedside.collect.outermost import outermost
from bedside.collect.pulse import Pulse
from bedside.collect.quiet import Quiet
from bedside.collect.stagger import PARTS
from bedside.collect.steps import StepListener
from bedside.diagnose import examine
from bedside.errors import BadModel, BadOption
from bedside.finding import Diagnosis, Finding
from bedside.record.run import Run
from bedside.record.store import Store
from bedside.settings import Settings

LIVE_CATEGORIES = 500  # more than these are written, but not kept in memory for the live view (12 KB each)
UNUSED_BACKWARDS = 10  # waiting for a step when somebody asks; the rule weighs them against the usual number
LOOK_OVER = 5.0  # seconds between two looks at whether model and optimizers still hold the same tensors

Method = TypeVar("Method", bound=Callable[..., Any])


def _unharmed(method: Method) -> Method:
    """The patient is never harmed by the monitor: a listener that fails is switched off with one warning."""

    @functools.wraps(method)
    def safely(self: Monitor, *args: Any, **kwargs: Any) -> Any:
        if self._off:
            return None
        began = time.perf_counter()
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if error is self._theirs:  # raised by the user's own on_finding, to stop the run
                raise
            self._switch_off(method.__name__, error)
        finally:
            self._governor.total += time.perf_counter() - began

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
    ) -> None:
        self.model = model
        self.optimizers = list(optimizers)
        self.rank = rank
        self._notes = notes = Notes(store, rank)
        self._on_finding = on_finding
        self._silent = quiet
        settings = settings or Settings()
        self._names = settings.map
        self._rules = settings.rules()
        self._off: str = ""
        self._theirs: Exception | None = None  # what on_finding raised
        self._closed = False
        self._pid = os.getpid()
        self._validating = False
        self._epoch_loss = (0.0, 0)  # sum and number
        self._blind = False
        self._arrival = Arrival()
        self._reported_at = -1
        self._layout = lay_out(model)
        self._next_layout: Layout | None = None
        self._freight = Freight()
        self._cadence = Cadence()
        self._governor = Governor(self._cadence, budget, fixed=_several_ranks())
        self._categories = Categories(self._freight)
        self._categories_told = 0  # the step of the last report
        self._door = Door(model)
        self._patient = Patient(model, self.optimizers, self._freight, self._door, self._layout, self.rank)
        self._ensemble = Ensemble(collectors, self._patient, self._say_failed)
        notes.facts(config or {})
        self._pulse = Pulse(notes.rows)
        self.quiet = Quiet(self.wake, self._step_begins, self._step_ended, self._rested, self._cannot_read)
        self._losses = LossListener(judge_clearing=len(self.optimizers) == 1)
        self._steps = StepListener(
            self.optimizers,
            self._layout,
            self._losses,
            self._freight,
            self._beat_finished,
            self._governor,
            first_step=notes.first_step,
            gradients=gradients,
            updates=updates,
        )
        if updates and self._steps.staggers:
            notes.facts({"updates_in_parts": PARTS})
        notes.replay()
        self._alarms = Alarms(notes.view, self._speak, LOOKING * budget / UNSEEN if budget else SHARE, self._rules)
        self._flushes = Flushes()
        self._looked_over = self._flushes.last
        self._divided: bool | None = None  # what was last said about micro-batches
        self._pulse.start_counting(self._layout)
        self._handles = [
            each.register_step_post_hook(outermost(self.quiet.after_step, each)) for each in self.optimizers
        ]
        self._beginnings: list[Any] = []  # handles of the hooks that hear a step begin
        self._hear_beginnings()
        self._scaler_waits_for: int | None = None
        self._covered: dict[str, Any] = {}
        self._check_coverage()
        patches.listen(self)
        if self._ensemble:
            self._door.open(self._forward_begins, self.wake, self._ensemble.failed)
        atexit.register(self._at_exit)
        self._attach_collectors()

    # What the user calls.

    @property
    def run_dir(self) -> Path:
        """The folder the record is written to."""
        return self._notes.run_dir

    @property
    def step(self) -> int:
        """The number of the next step; equally, how many steps have been watched so far."""
        return self._steps.next_step + len(self.quiet)

    def log(self, metrics: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Whatever else you know: `monitor.log(val_loss=0.3, accuracy=0.91)`.

        Names that begin with val_, valid_, eval_ or test_ are validation metrics, and so is everything that is
        logged together with one of them, or inside `with monitor.validation():`.
        """
        self._still_open("log")
        given = {**(metrics or {}), **more}
        values = {self._names.get(name, name): value for name, value in given.items() if self._names.get(name) != "-"}
        validating = self._validating or logged.of_validation(values)
        step = max(self.step - 1, 0)
        for name, value in values.items():
            number = logged.number(name, value)
            self._notes.metric(step, logged.vital(name, validating), number)
        self._ensemble.tell("metrics_logged", [logged.vital(name, validating) for name in values])

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

    def _tell_categories(self, validating: bool = False, final: bool = False) -> None:
        if not final:
            self._flush()
        means = self._categories.report(validating=validating)
        vital = "val/loss_by_category" if validating else "loss_by_category"
        step = max(self.step - 1, 0)
        for category, mean in means.items():
            self._notes.metric(step, vital, mean, category, live=len(means) <= LIVE_CATEGORIES)
        if not validating:
            self._categories_told = self.step
        news, self._categories.news = self._categories.news, []
        for what in news:
            self._event("categories_not_normalised", {"what": what})

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Marks an evaluation: what is logged inside is a validation metric."""
        self._still_open("validation")
        self.wake()
        self._event("validation", {"moment": "begin"})
        self._validating = self._door.validating = True
        try:
            yield
        finally:
            self._validating = self._door.validating = False
            self._event("validation", {"moment": "end"})
            self._tell_categories(validating=True)

    def epoch(self, number: int | None = None) -> None:
        """An epoch begins here (optional): the mean training loss of the one before is kept beside the steps."""
        self._still_open("epoch")
        self.wake()
        self._flush()
        previous = self._steps.epoch
        total, count = self._epoch_loss
        if count and previous is not None:
            self._notes.metric(max(self.step - 1, 0), "loss_epoch", total / count)
        self._epoch_loss = (0.0, 0)
        self._tell_categories()
        self._steps.epoch = float(number if number is not None else (0 if previous is None else previous + 1))
        self._event("epoch", {"epoch": self._steps.epoch})

    def diagnose(self) -> Diagnosis:
        """What is wrong so far, from everything recorded."""
        self._flush()
        if not self._closed:
            self._note_unused_gradients()
        self._reported_at = self.step
        return examine(self._recorded(), self._rules)

    def close(self, finished: bool | None = True) -> None:
        """Stop listening: every hook and patch is removed, the record is closed, and the report is printed."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        self._detach()
        try:
            self._finish()
        finally:
            self._notes.close(finished)
        heard = self.step or self._losses.waiting
        if not self._silent and self.rank == 0 and self._reported_at != self.step and heard:
            self._reported_at = self.step
            print(self.diagnose(), file=sys.stderr, flush=True)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close(finished=kind is None)
        except Exception as ours:
            if kind is None:  # with an exception of the user's under way, theirs is the one to see
                raise
            warnings.warn(f"bedside could not close the record: {ours}", RuntimeWarning, stacklevel=2)

    # What the patches and hooks call, in the order of the loop.

    @_unharmed
    def wake(self) -> None:
        """This step is not a quiet one after all: whoever listens is told what was missed of it."""
        quiet = self.quiet
        if not quiet.on:
            return
        quiet.on = False
        if not self._beginnings:
            self._hear_beginnings()
        self._settle()
        for forward in self._door.wake():
            self._ensemble.tell("forward_begins", forward)
        if quiet.call is not None:
            function, args, kwargs = quiet.call
            self._ensemble.tell("loss_computed", function, *patches.prediction_and_target(*args, **kwargs))
        if (loss := quiet.loss_of_ours) is not None:
            self._losses.recall(loss)
            self._ensemble.tell("backward_begins", (), [loss])
            self._ensemble.tell("backward_ended", True)
        if quiet.clip is not None:
            self._steps.clipped_all(*quiet.clip)
        quiet.loss = quiet.call = quiet.clip = None

    def _hear_beginnings(self) -> None:
        self._beginnings = [
            each.register_step_pre_hook(outermost(self.quiet.before_step, each)) for each in self.optimizers
        ]

    def _forward_begins(self, forward: Forward) -> None:
        if self.quiet.on:
            self.wake()
        self._ensemble.tell("forward_begins", forward)

    @_unharmed
    def scaled(self, loss: Any, scaled: Any) -> None:
        self._losses.scaled(loss, scaled)

    @_unharmed
    def before_backward(self, tensors: Any, gradient: Any) -> None:
        self._arrival.listen(self._layout.parameters)
        self._losses.before(tensors, gradient, self._layout.parameters)
        self._door.before_backward()
        if self._ensemble.wants("backward_begins"):
            self._ensemble.tell("backward_begins", tensors, self._losses.coming)

    @_unharmed
    def after_backward(self) -> None:
        ours = self._losses.after()
        self._door.after_backward(ours)
        self._ensemble.tell("backward_ended", ours)
        if ours and self._arrival.listening and self._arrival.order:
            self._arrival.stop()
            self._next_layout = lay_out(self.model, self._arrival.order)
            if self._steps.idle:
                self._set_layout(self._next_layout)

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
        if optimizer in self.optimizers and scaler.is_enabled():
            self._patient.scaler = scaler
            self._scaler_waits_for = id(optimizer)
            self._scale_now = scaler._scale.clone() if scaler._scale is not None else None
            if not getattr(optimizer, "_step_supports_amp_scaling", False):
                return
            self._steps.scaler_will_step(optimizer, self._scale_now)

    @_unharmed
    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        if self._scaler_waits_for == id(optimizer):  # the optimizer's hooks never ran
            self._scaler_waits_for = None
            self._steps.skipped(optimizer, self._scale_now)

    @_unharmed
    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._scaler_waits_for == id(optimizer):
            self._scaler_waits_for = None
            self._steps.scaler_will_step(optimizer, self._scale_now)
        closure = _has_closure(args, kwargs)
        self._ensemble.tell("step_begins", optimizer, closure)
        self._steps.before(optimizer, closure)

    @_unharmed
    def _step_ended(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        closure = _has_closure(args, kwargs)
        self._ensemble.tell("step_ended", optimizer, closure)
        self._steps.after(optimizer, closure)

    @_unharmed
    def _finish(self) -> None:
        """The last numbers and the last look; a failure here must not cost the user's program its end."""
        if self._steps.mid_round:
            self._steps.close_step()
        self._note_unused_gradients()
        self._flush(final=True)

    # How they are joined.

    @_unharmed
    def _rested(self) -> None:
        """The last of some quiet steps is over."""
        self.wake()
        self._losses.rested()
        self._between_steps(self._steps.next_step - 1)

    def _settle(self) -> None:
        """Quiet steps that are over are put with the others."""
        block = self.quiet.take()
        self._governor.total += self.quiet.spent
        self._governor.summing += self.quiet.spent if block.readings else 0.0
        self.quiet.spent = 0.0
        if len(block):
            self._steps.next_step += len(block)
            self._patient.untold += len(block)
            self._steps.last_end = self._patient.ended = block.ends[-1]
            self._pulse.rest(block, self._freight)
            self._governor.rested(self._steps.next_step - 1, len(block), block.ends[-1] - block.began)
            self._patient.step = self._steps.next_step

    def _beat_finished(self, beat: Beat) -> None:
        self._pulse.add(beat)
        sampled = bool(self._ensemble.attached)
        if sampled:
            self._ensemble.detach(beat.step, self._governor)
        self._ensemble.next_step()
        self._governor.total += self._door.spent
        self._door.spent = 0.0
        self._door.step_ended()
        if self._door.blind and not self._blind:
            self._blind = True
            self._say_blind()
        if self._next_layout is not None:  # learnt inside optimizer.step(closure); now nothing is half read
            self._set_layout(self._next_layout)
        self._patient.ended = self._steps.last_end
        # The step after a sampled one is listened to as well: some compare two that follow each other.
        self._between_steps(beat.step, may_rest=not sampled)

    def _between_steps(self, step: int, may_rest: bool = True) -> None:
        alarming, on_device = self._pulse.alarming, self._freight.full
        if self._flushes.due(step, self._steps.last_end, len(self._pulse), alarming=alarming, on_device=on_device):
            self._flush()
        self._patient.step = self.step
        rest = self._rest_for()
        if not rest:
            self._attach_collectors()
        elif may_rest and self._plain():
            self._rest(rest)

    def _rest_for(self) -> int:
        """How many steps may be quiet from here on."""
        reads_on = self._governor.budget is None and not self._ensemble and self.step >= FULL_STEPS
        return flushes.MOST if reads_on else self._cadence.quiet(self.step)

    def _plain(self) -> bool:
        """Whether the loop is one whose steps can be quiet."""
        return (
            len(self.optimizers) == 1
            and len(patches.LISTENING) == 1
            and self._patient.scaler is None
            and not self._arrival.listening
            and self._losses.probe is not None
            and self._losses.empty
            and self._steps.idle
            and not self._steps.closures
            and self._door.restful
            and not self._ensemble.tireless
            and not any(isinstance(group["lr"], Tensor) for group in self.optimizers[0].param_groups)
        )

    def _rest(self, steps: int) -> None:
        """The next steps are quiet."""
        probe, at_hand, ended = self._losses.probe, self._losses.at_hand, self._steps.last_end
        if probe is not None and ended is not None:
            self._losses.rest()
            self.quiet.listen_to(self._layout, probe, self.optimizers[0], self._door.rest(), at_hand)
            if self._governor.budget is None and self._steps.groups:
                self.quiet.read(self._steps.reader_at_rest())
            elif probe.grad is not None:  # the end of a step then tells as much as its beginning
                self._remove(self._beginnings)
            steps, deadline = min(steps, flushes.MOST), self._flushes.deadline(at_hand)
            self.quiet.begin(self.step, ended, self._steps.epoch, steps=steps, deadline=deadline)

    def _attach_collectors(self) -> None:
        """The next step begins: whoever is due listens to it."""
        self._patient.step = self.step
        self._ensemble.attach(self.step, self._cadence)
        self._door.expect(self._ensemble.attached)
        if self.step + 1 >= self._cadence.full_until:
            self._cadence.rest(self.step + 1, [*self._ensemble.sampled, *self._steps.groups, LISTENING])

    def _say_failed(self, collector: Collector, error: Exception) -> None:
        self._event("switched_off", {"where": collector.name, "error": f"{type(error).__name__}: {error}"})
        message = f"bedside switched off {collector.name} ({type(error).__name__}: {error}); the rest goes on."
        warnings.warn(message, RuntimeWarning, stacklevel=6)

    def _say_blind(self) -> None:
        """Never silently blind: steps are taken, but no forward of the model is ever heard."""
        name = type(self.model).__name__
        said = BadModel(
            f"No forward of {name} is heard, so activations, attention and inputs are not read (the rest is).",
            expected="a model that is called as model(x), and watched before a function around it is compiled",
            try_="bedside.watch(model, optimizer) before torch.compile(…), or torch.compile(model) instead",
        )
        self._event("blind", {"model": name})
        warnings.warn(str(said), RuntimeWarning, stacklevel=2)

    def _collect_rows(self, collector: Collector) -> None:
        for rows in collector.rows():
            self._notes.rows(
                rows.name, rows.columns, list(rows.steps), [time.time()] * len(rows.steps), rows.values, rows.dtype
            )
        for event in collector.events():
            self._notes.happened(event)

    def _flush(self, final: bool = False) -> None:
        if (self._off or self._closed) and not final:
            return
        began, looking = time.perf_counter(), self._governor.looking
        self._settle()
        steps = len(self._pulse)
        self._freight.unload()
        self._categories.collect()
        losses = self._pulse.flush()
        self._note_accumulation()
        self._ensemble.each(self._collect_rows)
        learnt, self._patient.facts = self._patient.facts, {}
        self._notes.facts(learnt)
        self._epoch_loss = (self._epoch_loss[0] + float(losses.sum()), self._epoch_loss[1] + len(losses))
        self._flushes.last = time.perf_counter()
        if final or self.step <= FULL_STEPS or self._flushes.last - self._looked_over > LOOK_OVER:
            self._look_over()
        if self.rank == 0 and self.step and (final or self._alarms.due(self.step - 1, losses)):
            self._governor.looking += self._alarms.look(self._write_parameters)
        self._notes.commit_if_due()
        if self._governor.summing > native.LOADING and self._losses.at_hand and not final:
            native.load_in_background()
        self._governor.wrote(time.perf_counter() - began - (self._governor.looking - looking), steps)
        if final:
            self._tell_categories(final=True)
            self._write_parameters()
            self._event("cost", self._governor.described())
            self._notes.commit()

    def _write_parameters(self) -> None:
        table = parameter_table(
            self.model, self._layout, self.optimizers, self._pulse.gradient_steps.tolist(), self._pulse.watched_steps
        )
        self._notes.parameters(table)

    def _cannot_read(self, error: Exception) -> None:
        """Reading at a quiet step failed; as with `_unharmed`, the training goes on."""
        self._switch_off("quiet step", error)

    def _set_layout(self, layout: Layout) -> None:
        self.wake()
        self._layout = self._patient.layout = layout
        self._next_layout = None
        self._steps.relayout(layout)
        self._pulse.start_counting(layout)

    def _look_over(self) -> None:
        """Does the model still have the tensors that are being read, and do the optimizers hold them?"""
        self._looked_over = self._flushes.last
        if not self._layout.same_parameters(self.model):
            self._set_layout(lay_out(self.model, self._arrival.order))
        self._check_coverage()

    def _check_coverage(self) -> None:
        found = coverage(self._layout, self.optimizers)
        if found != self._covered:
            self._covered = found
            self._event("coverage", found)

    def _note_unused_gradients(self) -> None:
        """Backwards without a step: told when somebody asks, since only the end tells them from accumulation."""
        if self._losses.waiting >= UNUSED_BACKWARDS:
            self._event("unstepped", {"backwards": self._losses.waiting})

    def _note_accumulation(self) -> None:
        if self._pulse.divided is not self._divided:
            self._divided = self._pulse.divided
            self._event("accumulation", {"divided": self._divided})

    def _still_open(self, call: str) -> None:
        if self._closed:
            raise BadOption(
                f"monitor.{call}() was called after the monitor was closed at step {self.step}.",
                expected="calls before close() or inside the `with bedside.watch(...)` block",
                try_=f"monitor = bedside.watch(model, optimizer, resume={str(self._notes.run_dir)!r})",
            )

    def _event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._notes.event(max(self.step - 1, 0), kind, data)

    def _speak(self, finding: Finding) -> None:
        self._cadence.burst(self.step)
        self._notes.finding(max(self.step - 1, 0), finding)
        if not self._silent:
            print_alarm(finding)
        if self._on_finding is not None and self._theirs is None:
            try:
                self._on_finding(finding)
            except Exception as theirs:
                self._theirs = theirs
                raise

    def _recorded(self) -> Run:
        if not self._closed:
            self._write_parameters()
            self._notes.commit()
        return self._notes.recorded()

    def _detach(self) -> None:
        self.quiet.on = False
        self._ensemble.detach(self.step, self._governor)
        self._door.close()
        self._ensemble.each(lambda c: c.end())
        patches.stop_listening(self)
        self._remove(self._handles)
        self._remove(self._beginnings)
        self._arrival.stop()

    def _remove(self, handles: list[Any]) -> None:
        while handles:
            handles.pop().remove()

    def _switch_off(self, where: str, error: Exception) -> None:
        self._off = f"{where}: {type(error).__name__}: {error}"
        self._detach()
        self._event("switched_off", {"where": where, "error": self._off, "all": True})
        warnings.warn(
            f"bedside stopped listening at step {self.step} ({self._off}); training goes on unwatched.",
            RuntimeWarning,
            stacklevel=4,
        )

    def _at_exit(self) -> None:
        crashed = hasattr(sys, "last_exc") or hasattr(sys, "last_type")
        self.close(finished=False if crashed else None)


def _several_ranks() -> bool:
    return int(os.environ.get("WORLD_SIZE", 1)) > 1


def _has_closure(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """The hook gets (optimizer, closure) as positional arguments, or the closure by name."""
    return (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
