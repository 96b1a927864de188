"""The Monitor: what `watch` returns, and the one object that joins the listeners, the record and the alarms."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from torch import Tensor, nn
from torch.optim import Optimizer

import bedside.report  # noqa: F401  (so that a Diagnosis can be printed)
from bedside.analysis.run_summary import run_summary
from bedside.collect.collector import WatchContext
from bedside.collect.collector_set import CollectorSet, Make
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.forward_hooks import ForwardHooks
from bedside.collect.hooks.optimizer_hooks import OptimizerHooks
from bedside.collect.hooks.rebuilt_optimizers import RebuiltOptimizers
from bedside.collect.model.gradient_order import GradientOrder
from bedside.collect.model.parameter_layout import lay_out
from bedside.collect.model.watched_parameters import Parameters
from bedside.collect.probes import Probes
from bedside.collect.reading.device_queue import DeviceQueue
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.partial_updates import PARTS
from bedside.collect.sampling.budget import ALARM_SHARE, UNTIMED_FACTOR, Budget
from bedside.collect.sampling.flush_timing import Flushes
from bedside.collect.sampling.intervals import FULL_STEPS, Intervals
from bedside.collect.step.fast_path import FastPath, StepEnd
from bedside.collect.step.fast_path_control import FastPathControl
from bedside.collect.step.loss import LossListener
from bedside.collect.step.loss_by_category import REPORT_INTERVAL as REPORT_CATEGORIES
from bedside.collect.step.loss_by_category import Categories
from bedside.collect.step.optimizer_step import StepListener, has_closure
from bedside.collect.step.scaler_step import Scaling
from bedside.collect.step.step_data import StepData
from bedside.collect.step.step_rows import StepRows
from bedside.diagnosis.engine import examine
from bedside.errors import BadOption, BedsideError, say, unknown_name, warn_safely
from bedside.finding import Diagnosis, Finding
from bedside.incident.incidents import Incidents
from bedside.monitor import ranks
from bedside.monitor.alarms import SHARE, AlarmPrinter, Alarms
from bedside.monitor.flushing import Flusher
from bedside.monitor.logged import LoggedMetrics
from bedside.monitor.recorder import Recorder
from bedside.monitor.run_events import RunEvents
from bedside.record.run import Run
from bedside.record.sqlite.writer import Store
from bedside.settings import Settings
from bedside.sinks.ending import ending_of
from bedside.sinks.forwarding import Forwarding
from bedside.sinks.sink import Ending, Sink

CHECK_INTERVAL_SECONDS = 5.0  # seconds between two looks at whether model and optimizers still hold the same tensors

Method = TypeVar("Method", bound=Callable[..., Any])


def _unharmed(method: Method) -> Method:
    """The training is never harmed by the monitor: a listener that fails is switched off with one warning."""

    @functools.wraps(method)
    def safely(self: Monitor, *args: Any, **kwargs: Any) -> Any:
        if self._off:
            return None
        within, self._timed = self._timed, True
        began = time.perf_counter()
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if error is self._printer.theirs:  # raised by the user's own on_finding, to stop the run
                raise
            self._switch_off(method.__name__, error)
        except BaseException as interrupt:
            self._interrupted(method.__name__, interrupt)
            raise
        finally:
            self._timed = within
            if not within:  # one that calls another is timed with it
                self._budget.total += time.perf_counter() - began

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
            if error is self._printer.theirs:
                raise
            if not self._off:
                self._switch_off(method.__name__.strip("_"), error)
        except BaseException as interrupt:
            self._interrupted(method.__name__.strip("_"), interrupt)
            raise

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
        self._recorder = recorder = Recorder(store, rank, first_step)
        self._events = RunEvents(recorder, lambda: self.step)
        self._printer = AlarmPrinter(on_finding, silent=quiet)
        settings = settings or Settings()
        self._logged = LoggedMetrics(recorder.logged, settings.map, recorder.has)
        self._rules = settings.rules()
        self._off: str = ""
        self._timed = False  # by whoever called
        self._closed = False
        self._ended_by: BaseException | None = None
        self._pid = os.getpid()
        self._validating = False
        self._gradient_order = GradientOrder()
        self._reported_at = -1
        layout = lay_out(model)
        self._queue = DeviceQueue()
        self._intervals = Intervals()
        self._budget = Budget(self._intervals, budget, fixed=ranks.several_ranks())
        self._categories = Categories(self._queue)
        self._categories_reported_at = 0  # the step of the last report
        self._forward_hooks = ForwardHooks(model, allowed := Probes(probes))
        self._context = context = WatchContext(
            model, self.optimizers, self._queue, self._forward_hooks, layout, self.rank, allowed
        )
        self._incidents = incidents
        if incidents is not None:
            announce: Callable[[str], None] = (lambda text: None) if quiet else say
            make = functools.partial(
                incidents.listener, run_dir=recorder.run_dir, step=lambda: self.step, announce=announce
            )
            collectors = [*collectors, make]
        self._collectors = CollectorSet(collectors, context, self._events.failed)
        if sinks and rank == 0:
            recorder.forwarding = Forwarding(sinks, recorder.run_dir)
        recorder.facts(config or {})
        described = ranks.described(model, rank)
        if described:
            recorder.join_ranks(described)
        self._step_rows = step_rows = StepRows(recorder.rows, by_parameter=by_parameter)
        self.fast_path = FastPath()
        self._losses = losses = LossListener(judge_clearing=len(self.optimizers) == 1)
        self._steps = steps = StepListener(
            self.optimizers,
            layout,
            losses,
            self._queue,
            self._step_finished,
            self._budget,
            first_step=recorder.first_step,
            gradients=gradients,
            updates=updates,
        )
        step_rows.hand_clipping = steps.hand_clipping
        if updates and steps.updates_in_parts:
            recorder.facts({"updates_in_parts": PARTS})
        recorder.replay()
        share = ALARM_SHARE * budget / UNTIMED_FACTOR if budget else SHARE
        self._alarms = Alarms(recorder.view, self._on_alarm, share, self._rules, self._printer.withdraw)
        self._flushes = Flushes()
        self._looked_over = self._flushes.last
        self._flusher = Flusher(recorder, self._events, context, step_rows, self._collectors, self._categories)
        self._optimizer_hooks = OptimizerHooks(self.optimizers, self._before_step, self._after_step)
        self._fast_path_control = FastPathControl(
            self.fast_path,
            context,
            self._collectors,
            self._gradient_order,
            losses,
            steps,
            step_rows,
            self._flushes,
            self._budget,
            self._optimizer_hooks,
        )
        self._scaling = Scaling(context, steps)
        self._parameters = Parameters(
            context, self._gradient_order, steps, step_rows, self._events.coverage, self.leave_fast_path
        )
        step_rows.start_counting(layout)
        self._rebuilt = RebuiltOptimizers(self.optimizers, self._adopt, self._before_step)
        self._new_optimizer = False  # whose hooks are still to be put on
        self._handles: list[Any] = []
        try:
            self._attach()
        except BaseException:
            self._detach()
            raise

    def _attach(self) -> None:
        """From here on the model, its optimizers and torch have something of ours on them."""
        if self._incidents is not None:
            self._handles += self._incidents.guard_step_ends(self.optimizers)
        self._optimizer_hooks.install()
        if self._incidents is not None:
            self._handles += self._incidents.guard_step_begins(self.optimizers)
        self._parameters.check_coverage()
        patches.add_monitor(self)
        if self._collectors:
            self._forward_hooks.install(self._forward_begins, self._forward_ended, self._collectors.failed)
        atexit.register(self._at_exit)
        self._fast_path_control.attach_collectors()

    # What the user calls.

    @property
    def run_dir(self) -> Path:
        """The folder the record is written to."""
        return self._recorder.run_dir

    @property
    def step(self) -> int:
        """The number of the next step; equally, how many steps have been watched so far."""
        return self._fast_path_control.step

    @_called_by_user
    def log(
        self, metrics: Mapping[str, Any] | None = None, /, *, n: float | None = None, reduce: bool = False, **more: Any
    ) -> None:
        """Whatever else you know: `monitor.log(val_loss=0.3, accuracy=0.91)`.

        Names are read as those of any log: `val_loss`, `eval/loss`, `dev_loss` and `Loss/val` are the validation loss.
        A name without a split is a validation metric when it is logged together with one that has it, or inside
        `with monitor.validation():`; there, several calls are averaged, weighted by `n`, the number of samples.
        `step=`, `epoch=` and `tokens=` say when, and are no metrics.

        With several ranks, what rank 0 logs is shown. `reduce=True` shows the mean over the samples of all ranks
        instead: every rank logs its own mean and its own `n`. No rank waits for another; readers add them up.
        """
        self._still_open("log")
        vitals = self._logged.log({**(metrics or {}), **more}, self._events.step, n, reduce)
        self._collectors.notify("metrics_logged", vitals)

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
        if not self._validating and self.step - self._categories_reported_at >= REPORT_CATEGORIES:
            self._report_categories()

    def _report_categories(self, validating: bool = False) -> None:
        self._flush()
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

    @_called_by_user
    def _validation_begins(self) -> None:
        self._validating = self._forward_hooks.validating = True
        self._logged.begin_evaluation()
        self.leave_fast_path()
        self._flush()  # an evaluation may take long, and the steps before it should be safe meanwhile
        self._events.note("validation", {"moment": "begin"})

    @_called_by_user
    def _validation_ends(self) -> None:
        self._validating = self._forward_hooks.validating = False
        self._logged.end_evaluation(self._events.step)
        self._events.note("validation", {"moment": "end"})
        self._report_categories(validating=True)

    @_called_by_user
    def epoch(self, number: int | None = None) -> None:
        """An epoch begins here (optional): the mean training loss of the one before is kept beside the steps."""
        self._still_open("epoch")
        self.leave_fast_path()
        self._flush()
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
        return run_summary(self._recorder.recorded(), window)

    def diagnose(self) -> Diagnosis:
        """What is wrong so far, from everything recorded."""
        self._catch_up()
        self._reported_at = self.step
        try:
            return examine(self._recorder.recorded(), self._rules)
        except Exception:  # a record that can no longer be read; memory holds the same run, downsampled
            return examine(self._recorder.view(), self._rules)

    @_called_by_user
    def _catch_up(self) -> None:
        """Bring everything that waits into the record."""
        self._flush()
        if not self._closed:
            self._events.unused_gradients(self._losses.waiting)
            self._flusher.parameters()
            self._recorder.commit()

    def close(self, finished: bool | None = True) -> None:
        """Stop listening: every hook and patch is removed, the record is closed, and the report is printed."""
        if os.getpid() != self._pid:
            return
        self._detach()  # also if it is closed already: an interrupt may have come between
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        try:
            if self._ended_by is not None and ranks.several_ranks():
                self._events.note("ended", ranks.ending(self._ended_by))
            self._finish()
            self._recorder.end_forwarding(self._events.step, self._ending)
        finally:
            self._recorder.close(finished)
        observed = self.step or self._losses.waiting
        if not self._printer.silent and self.rank == 0 and self._reported_at != self.step and observed:
            self._reported_at = self.step
            self._report()

    def close_for_another(self) -> None:
        """The same model is watched anew (a notebook cell that was run again): end without a report."""
        if not self._closed and os.getpid() == self._pid:
            self._printer.silent = True
            self.close(finished=None)

    @_called_by_user
    def _report(self) -> None:
        say(str(self.diagnose()))

    def _ending(self) -> Ending:
        return ending_of(examine(self._recorder.recorded(), self._rules), self.run_dir)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if error is not None:
            self._ended_by = error
            self.training_failed(error)
        try:
            self.close(finished=kind is None)
        except Exception as ours:
            if kind is None:  # with an exception of the user's under way, theirs is the one to see
                raise
            warn_safely(f"bedside could not close the record: {ours}")

    # What the patches and hooks call, in the order of the loop.

    @_unharmed
    def leave_fast_path(self) -> None:
        """This step is not a fast-path step after all: the collectors get what they missed of it."""
        if self.fast_path.active:
            self._fast_path_control.leave_fast_path()
            if self._incidents is not None:
                self._incidents.guard_last()

    def _forward_begins(self, forward: Forward) -> bool:
        """Says whether it is this training's, or another thread's."""
        trains = forward.grad and not forward.validating
        if not (self._context.thread.called() if trains else self._context.thread.is_here()):
            return False
        if self.fast_path.active:
            self._timed = True  # by the forward hooks
            try:
                self.leave_fast_path()
            finally:
                self._timed = False
        if trains:
            self._losses.forward_began()
        self._collectors.notify("forward_begins", forward)
        return True

    def _forward_ended(self, output: Any) -> None:
        self._collectors.notify("forward_ended", output)

    @_unharmed
    def optimizer_made(self, optimizer: Optimizer) -> None:
        self.leave_fast_path()  # its first step must not go by unseen
        self._rebuilt.made(optimizer)

    @_unharmed
    def _adopt(self, old: Optimizer, new: Optimizer) -> None:
        """The trainer has built its optimizer anew: the new one is watched in the place of the old one."""
        self.leave_fast_path()
        facts = {"was": type(old).__name__, "optimizer": type(new).__name__, "has_state": bool(new.state)}
        self._events.note("optimizer_rebuilt", facts)
        self._optimizer_hooks.replace(old, new)
        self.optimizers[:] = [new if each is old else each for each in self.optimizers]  # collectors look at this list
        self._steps.replace(old, new)
        self._parameters.check_coverage()
        self._new_optimizer = True

    @_unharmed
    def scaled(self, loss: Any, scaled: Any) -> None:
        self._losses.scaled(loss, scaled)

    @_unharmed
    def before_backward(self, tensors: Any, gradient: Any) -> bool:
        """Says whether its end should be reported, too."""
        if not self._context.thread.owns_backward(tensors, self._context.layout.index):
            return False
        if self.fast_path.active:
            self.leave_fast_path()
        self._parameters.backward_begins()
        parameters = self._context.layout.parameters
        self._gradient_order.listen(parameters)
        self._losses.before(tensors, gradient, parameters)
        self._forward_hooks.before_backward()
        if self._collectors.is_handled("backward_begins"):
            self._collectors.notify("backward_begins", tensors, self._losses.coming)
        return True

    @_unharmed
    def training_failed(self, error: BaseException) -> None:
        """An exception of the user's training got here."""
        if self._incidents is not None:
            self._incidents.failed(error)

    @_unharmed
    def after_backward(self) -> None:
        ours = self._losses.after()
        self._forward_hooks.after_backward(ours)
        self._collectors.notify("backward_ended", ours)
        if ours:
            self._steps.backward_ended()
            self._parameters.backward_ended()

    @_unharmed
    def clipped_by_norm(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Any) -> None:
        if not isinstance(total_norm, Tensor):
            return
        self.leave_fast_path()  # a clip call that a fast-path step does not have
        self._steps.clipped(parameters, max_norm, total_norm)
        if self._collectors.is_handled("clipped"):
            self._collectors.notify("clipped", parameters, max_norm, total_norm)

    @_unharmed
    def clipped_by_value(self, parameters: Sequence[Tensor], clip_value: float) -> None:
        self.leave_fast_path()
        self._steps.clipped_by_value(parameters, clip_value)

    @_unharmed
    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._context.thread.is_here():
            self._collectors.notify("loss_computed", function, prediction, target)

    @_unharmed
    def scheduler_stepped(self, scheduler: Any) -> None:
        self._collectors.notify("scheduler_stepped", scheduler)

    @_unharmed
    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        self.leave_fast_path()
        self._scaling.before(scaler, optimizer)

    @_unharmed
    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        self._scaling.after(optimizer)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The optimizer's hook; not at fast-path steps at which nothing is read."""
        fast_path = self.fast_path
        if fast_path.active:
            if fast_path.takes_step_begin():
                if fast_path.error is not None:
                    self._reading_failed()
                return
            self.leave_fast_path()
        self._step_begins(optimizer, args, kwargs)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The optimizer's hook, at all steps."""
        try:
            answer = self.fast_path.takes_step_end()
            if answer:
                self._not_skipped(answer, optimizer, args, kwargs)
        except KeyboardInterrupt as interrupt:
            self._interrupted("step", interrupt)
            raise

    def _not_skipped(self, answer: StepEnd, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The fast path did not take the step that is over, or it was the last that it takes."""
        if answer is StepEnd.LAST:
            self._fast_path_ended()
        elif answer is StepEnd.FAILED:
            self._reading_failed()
        else:
            if answer is StepEnd.LEAVE:
                self.leave_fast_path()
                self._step_begins(optimizer, args, kwargs)
            self._step_ended(optimizer, args, kwargs)

    @_unharmed
    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._context.thread.stepped()
        self._scaling.step_begins(optimizer)
        closure = has_closure(args, kwargs)
        self._collectors.notify("step_begins", optimizer, closure)
        self._steps.before(optimizer, closure)

    @_unharmed
    def _step_ended(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        closure = has_closure(args, kwargs)
        self._collectors.notify("step_ended", optimizer, closure)
        self._rebuilt.stepped(optimizer)
        if self._new_optimizer:  # not sooner: torch goes through its hooks when a step begins
            self._new_optimizer = False
            self._optimizer_hooks.install_before()
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
    def _fast_path_ended(self) -> None:
        """The last of some fast-path steps is over."""
        self.leave_fast_path()
        self._losses.left_fast_path()
        self._between_steps(self._steps.next_step - 1)

    def _step_finished(self, data: StepData) -> None:
        self._step_rows.add(data)
        sampled = bool(self._collectors.attached)
        if sampled:
            self._collectors.detach(data.step, self._budget)
        self._collectors.next_step()
        self._budget.total += self._forward_hooks.spent
        self._forward_hooks.spent = 0.0
        self._forward_hooks.step_ended()
        if self._forward_hooks.blind:
            self._events.blind(self.model)
        self._parameters.step_ended()
        self._context.ended = self._steps.last_end
        # The step after a sampled one is observed as well: some compare two that follow each other.
        self._between_steps(data.step, may_skip=not sampled)

    def _between_steps(self, step: int, may_skip: bool = True) -> None:
        alarming, on_device = self._step_rows.alarming, self._queue.full
        if self._flushes.due(step, self._steps.last_end, len(self._step_rows), alarming=alarming, on_device=on_device):
            self._flush()
        self._fast_path_control.choose(may_skip)

    def _flush(self, final: bool = False) -> None:
        if (self._off or self._closed) and not final:
            return
        began, alarm_seconds = time.perf_counter(), self._budget.alarm_seconds
        self._fast_path_control.settle()
        steps = len(self._step_rows)
        losses = self._flusher.flush()
        self._flushes.last = time.perf_counter()
        if final or self.step <= FULL_STEPS or self._flushes.last - self._looked_over > CHECK_INTERVAL_SECONDS:
            self._looked_over = self._flushes.last
            self._parameters.look_over()
        if self.rank == 0 and self.step and (final or self._alarms.due(self.step - 1, losses)):
            self._budget.alarm_seconds += self._alarms.look(self._prepare_look, final=final)
        self._recorder.commit_if_due()
        if self._incidents is not None:
            self._incidents.recorded(self._committed)
        if self._budget.sum_seconds > native.LOADING_SECONDS and self._losses.on_cpu and not final:
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

    def _reading_failed(self) -> None:
        """Reading at a fast-path step failed; as with `_unharmed`, the training goes on."""
        error, self.fast_path.error = self.fast_path.error, None
        if error is not None:
            self._switch_off("quiet step", error)

    def _still_open(self, call: str) -> None:
        if self._closed:
            raise BadOption(
                f"monitor.{call}() was called after the monitor was closed at step {self.step}.",
                expected="calls before close() or inside the `with bedside.watch(...)` block",
                try_=f"monitor = bedside.watch(model, optimizer, resume={str(self._recorder.run_dir)!r})",
            )

    def _on_alarm(self, finding: Finding) -> None:
        if not ranks.several_ranks():  # which steps are read is decided by their number alone, on all ranks alike
            self._intervals.start_dense_sampling(self.step)
        self._recorder.finding(self._events.step, finding)
        self._printer.say(finding)

    def _detach(self) -> None:
        """Nothing is left on the model, its optimizers and torch. May be repeated. A part that fails or is interrupted
        does not keep the others from being removed; the last that is named is the first to go."""
        with ExitStack() as stack:
            stack.callback(self._gradient_order.stop)
            stack.callback(self._collectors.each, lambda collector: collector.end())
            if self._incidents is not None:
                stack.callback(self._incidents.end)
            stack.callback(self._collectors.detach, self.step, self._budget)
            stack.callback(self._rebuilt.close)
            stack.callback(self._optimizer_hooks.remove)
            for handle in self._handles:
                stack.callback(handle.remove)
            stack.callback(self._forward_hooks.remove)
            stack.callback(patches.remove_monitor, self)
            self.fast_path.active = False

    def _interrupted(self, where: str, interrupt: BaseException) -> None:
        """Something like Ctrl-C came while our own code ran. What was half done could be recorded wrongly, so nothing
        more is; a program that goes on trains unwatched."""
        self._off = self._off or f"{where}: {type(interrupt).__name__}"
        self._detach()
        if isinstance(interrupt, KeyboardInterrupt) and not self._closed:
            with suppress(Exception):
                self._events.interrupted()

    def _switch_off(self, where: str, error: Exception) -> None:
        self._off = f"{where}: {type(error).__name__}: {error}"
        self._detach()
        with suppress(Exception):  # what was observed until then is kept, unless it is writing that fails
            self._fast_path_control.settle()
            self._flusher.flush()
            self._recorder.commit()
        self._events.switched_off(where, self._off)

    def _at_exit(self) -> None:
        crashed = getattr(sys, "last_type", None)
        if (error := getattr(sys, "last_value", None)) is not None:
            self._ended_by = error
            self.training_failed(error)
        self.close(finished=False if crashed else None)
        if crashed is not None and issubclass(crashed, KeyboardInterrupt):
            _end_by_interrupt()


def _end_by_interrupt() -> None:
    """Python ends a program that Ctrl-C stopped by that signal (130 in a shell), but forgets to if anything compiled
    code from text meanwhile, as importing a module with dataclasses for the report does. This reminds it."""
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")
