"""The dispatcher: every hook on model and optimizers, and every replaced torch function, calls it. It owns the hooks.
At every moment of the loop it first asks the fast path whether it handles this moment, and otherwise passes it on to
the readers: losses, steps, scaler, collectors. It also contains our own failures: everything is removed, and training
goes on unwatched.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import WatchContext
from bedside.collect.collector_set import CollectorSet
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.call_slot import is_compiling
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.optimizer_hooks import OptimizerHooks
from bedside.collect.hooks.rebuilt_optimizers import RebuiltOptimizers
from bedside.collect.model.gradient_order import GradientOrder
from bedside.collect.model.watched_parameters import Parameters
from bedside.collect.sampling.budget import Budget
from bedside.collect.step.clipping import members_of
from bedside.collect.step.fast_path import StepEnd
from bedside.collect.step.fast_path_control import FastPathControl
from bedside.collect.step.hand_written_loss import HandWrittenLoss
from bedside.collect.step.loss import LossListener
from bedside.collect.step.optimizer_step import StepListener, has_closure
from bedside.collect.step.scaler_step import Scaling
from bedside.collect.step.step_count import StepCount
from bedside.collect.step.step_data import StepData
from bedside.collect.step.step_rows import StepRows
from bedside.errors import is_interrupt, pass_on_interrupts
from bedside.incident.incidents import Incidents
from bedside.monitor.alarms import AlarmPrinter
from bedside.monitor.flush_cycle import FlushCycle
from bedside.monitor.idle import IdleCheck
from bedside.monitor.run_events import RunEvents
from bedside.monitor.safeguards import unharmed


class Dispatcher:
    """Passes every moment of the loop on to the parts that need it."""

    def __init__(
        self,
        context: WatchContext,
        optimizers: list[Optimizer],
        collectors: CollectorSet,
        events: RunEvents,
        printer: AlarmPrinter,
        budget: Budget,
        count: StepCount,
        gradient_order: GradientOrder,
        losses: LossListener,
        steps: StepListener,
        step_rows: StepRows,
        optimizer_hooks: OptimizerHooks,
        fast_path_control: FastPathControl,
        parameters: Parameters,
        flush_cycle: FlushCycle,
        incidents: Incidents | None,
    ) -> None:
        self._context = context
        self.optimizers = optimizers
        self.collectors = collectors
        self._events = events
        self.printer = printer
        self.budget = budget
        self._count = count
        self._gradient_order = gradient_order
        self.losses = losses
        self.steps = steps
        self._step_rows = step_rows
        self._optimizer_hooks = optimizer_hooks
        self.fast_path_control = fast_path_control
        self.fast_path = fast_path_control.fast_path
        self._parameters = parameters
        self.flush_cycle = flush_cycle
        self._incidents = incidents
        self._scaling = Scaling(context, steps)
        self._hand_written = HandWrittenLoss()
        self._idle_check = IdleCheck(self, context.forward_hooks)
        self._rebuilt = RebuiltOptimizers(optimizers, self._adopt, self._before_step)
        self._new_optimizer = False  # whose hooks are still to be put on
        self._handles: list[Any] = []
        self._steps_compiled = False  # so that nothing is seen of them
        self.off = ""  # why the monitor was switched off, if it was
        self._end_noted = False  # that the monitor was switched off, in the record
        self.closed = False
        self.timed = False  # by whoever called,
        self.booked_until = 0.0  # and how far that time is in the books, by the clock
        steps.on_finished = self._step_finished

    def attach(self) -> None:
        """Installs the hooks on the model, its optimizers and torch."""
        if self._incidents is not None:
            self._handles += self._incidents.guard_step_ends(self.optimizers)
        self._optimizer_hooks.install(self._before_step, self._after_step)
        if self._incidents is not None:
            self._handles += self._incidents.guard_step_begins(self.optimizers)
        self._parameters.check_coverage()
        patches.add_dispatcher(self)
        if self.collectors:
            self._context.forward_hooks.install(
                self._forward_begins, self._forward_ended, self.collectors.failed, self.caught
            )
        self.fast_path_control.attach_collectors()

    # What the patches and hooks call, in the order of the loop.

    @unharmed
    def leave_fast_path(self) -> None:
        """The current step is not a fast-path step after all: pass on to the collectors what they missed of it."""
        self.fast_path_control.leave_fast_path()

    @unharmed
    def another_begins(self) -> None:
        """Another monitor is notified from here on, and a fast-path step is one without other observers. In the middle
        of another thread's step nothing is touched: that thread leaves the fast path at its next backward."""
        if self._context.thread.is_here():
            self.leave_fast_path()

    def _forward_begins(self, forward: Forward) -> bool:
        """Says whether it is this training's, or another thread's."""
        self._idle_check.ours()
        trains = forward.grad and not forward.validating
        if not (self._context.thread.called() if trains else self._context.thread.is_here()):
            return False
        if self.fast_path.active:
            self.timed = True  # by the forward hooks
            try:
                self.leave_fast_path()
            finally:
                self.timed = False
        if trains:
            self.losses.forward_began()
        self.collectors.notify("forward_begins", forward)
        return True

    def _forward_ended(self, output: Any) -> None:
        if self.collectors.attached:
            self._hand_written.forward_ended(output)
        self.collectors.notify("forward_ended", output)

    @unharmed
    def compile_begins(self) -> None:
        """Removes every temporary hook before torch traces the program."""
        self._context.forward_hooks.compile_begins()
        self._optimizer_hooks.stay()

    @unharmed
    def optimizer_made(self, optimizer: Optimizer) -> None:
        if self._rebuilt.made(optimizer):
            self.leave_fast_path()  # its first step must not go by unseen

    @unharmed
    def _adopt(self, old: Optimizer, new: Optimizer) -> None:
        """The trainer has rebuilt its optimizer: watch the new one in place of the old one."""
        self.leave_fast_path()
        facts = {"was": type(old).__name__, "optimizer": type(new).__name__, "has_state": bool(new.state)}
        self._events.note("optimizer_rebuilt", facts)
        self._optimizer_hooks.replace(old, new)
        self.optimizers[:] = [new if each is old else each for each in self.optimizers]  # collectors look at this list
        self.steps.replace(old, new)
        self._parameters.check_coverage()
        self._new_optimizer = True

    @unharmed
    def scaled(self, loss: Any, scaled: Any) -> None:
        self.losses.scaled(loss, scaled)

    @unharmed
    def before_backward(self, tensors: Any, gradient: Any) -> bool:
        """Returns whether the end of the backward should be reported too."""
        if not self._context.thread.owns_backward(tensors, self._context.layout.index):
            return False
        if self.fast_path.active:
            self.leave_fast_path()
        if self._steps_compiled:
            self._events.steps_compiled(self.optimizers[0])
        self._parameters.backward_begins()
        parameters = self._context.layout.parameters
        self._gradient_order.listen(parameters)
        self.losses.before(tensors, gradient, parameters)
        self._context.forward_hooks.before_backward()
        if self.collectors.attached and (written := self._hand_written.before_backward(tensors)) is not None:
            self.collectors.notify("loss_computed", *written)
        if self.collectors.is_handled("backward_begins"):
            self.collectors.notify("backward_begins", tensors, self.losses.coming)
        return True

    @unharmed
    def training_failed(self, error: BaseException) -> None:
        """Called when the user's training raised an exception."""
        if self._incidents is not None:
            self._incidents.failed(error)

    @unharmed
    def after_backward(self) -> None:
        ours = self.losses.after()
        self._idle_check.backward_ended(ours)
        self._context.forward_hooks.after_backward(ours)
        self.collectors.notify("backward_ended", ours)
        if ours:
            self.steps.backward_ended()
            self._parameters.backward_ended()

    def _are_ours(self, parameters: Sequence[Tensor]) -> bool:
        """Whether any is. Others may belong to another thread, which is no time to read gradients of ours."""
        return bool(parameters) and not isinstance(members_of(parameters, self._context.layout), bool)

    @unharmed
    def clipped_by_norm(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Any) -> None:
        if not isinstance(total_norm, Tensor) or not self._are_ours(parameters):
            return
        self.leave_fast_path()  # a clip call that a fast-path step does not have
        self.steps.clipped(parameters, max_norm, total_norm)
        if self.collectors.is_handled("clipped"):
            self.collectors.notify("clipped", parameters, max_norm, total_norm)

    @unharmed
    def clipped_by_value(self, parameters: Sequence[Tensor], clip_value: float) -> None:
        if not self._are_ours(parameters):
            return
        self.leave_fast_path()
        self.steps.clipped_by_value(parameters, clip_value)

    @unharmed
    def loss_computed(self, function: str, args: Any, kwargs: Any) -> None:
        if self._context.thread.is_here():
            self.leave_fast_path()  # it is still active where a monitor of another thread has just begun
            prediction, target = patches.prediction_and_target(*args, **kwargs)
            self._hand_written.loss_computed(prediction)
            self.collectors.notify("loss_computed", function, prediction, target)

    @unharmed
    def scheduler_stepped(self, scheduler: Any) -> None:
        self.collectors.notify("scheduler_stepped", scheduler)

    @unharmed
    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        if any(each is optimizer for each in self.optimizers):
            self.leave_fast_path()
            self._scaling.before(scaler, optimizer)

    @unharmed
    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        self._scaling.after(optimizer)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The optimizer's pre-step hook; not installed at fast-path steps at which nothing is read."""
        if is_compiling():
            self._steps_compiled = True  # torch sets it at every step; what reads would be compiled in
            return
        fast_path = self.fast_path
        if fast_path.active:
            try:
                taken = fast_path.takes_step_begin()
                if taken and fast_path.error is not None:
                    self._reading_failed()
            except BaseException as error:
                self.caught("step", error)
                return
            if taken:
                return
            self.leave_fast_path()
        self._step_begins(optimizer, args, kwargs)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The optimizer's post-step hook, at all steps."""
        if is_compiling():
            return
        try:
            answer = self.fast_path.takes_step_end()
            if answer:
                self._not_skipped(answer, optimizer, args, kwargs)
        except BaseException as error:
            self.caught("step", error)

    def _not_skipped(self, answer: StepEnd, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """The fast path did not handle the step that has just ended, or it was the last one it handles."""
        if answer is StepEnd.LAST:
            self._fast_path_ended()
        elif answer is StepEnd.FAILED:
            self._reading_failed()
        else:
            if answer is StepEnd.LEAVE:
                self.leave_fast_path()
                self._step_begins(optimizer, args, kwargs)
            self._step_ended(optimizer, args, kwargs)

    @unharmed
    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._idle_check.ours()
        self._context.thread.stepped()
        self._scaling.step_begins(optimizer)
        closure = has_closure(args, kwargs)
        self.collectors.notify("step_begins", optimizer, closure)
        self.steps.before(optimizer, closure)

    @unharmed
    def _step_ended(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        closure = has_closure(args, kwargs)
        self.collectors.notify("step_ended", optimizer, closure)
        self._rebuilt.stepped(optimizer)
        if self._new_optimizer:  # not sooner: torch goes through its hooks when a step begins
            self._new_optimizer = False
            self._optimizer_hooks.install_before()
        self.steps.after(optimizer, closure)

    @unharmed
    def finish(self) -> None:
        """The last flush and the last run of the rules; a failure here must not keep the user's program from ending
        normally."""
        if self.steps.mid_round:
            self.steps.close_step()
        self._events.unused_gradients(self.losses.waiting)
        self.flush(final=True)

    # Between two steps.

    @unharmed
    def _fast_path_ended(self) -> None:
        """The last of a batch of fast-path steps is over."""
        self.leave_fast_path()
        self.losses.left_fast_path()
        self._between_steps(self._count.settled - 1)

    def _step_finished(self, data: StepData) -> None:
        self._step_rows.add(data)
        sampled = bool(self.collectors.attached)
        if sampled:
            self.collectors.detach(data.step, self.budget)
        self.collectors.next_step()
        self.budget.total += self._context.forward_hooks.spent
        self._context.forward_hooks.spent = 0.0
        self.book()
        self.budget.step_took(data.step, data.seconds)
        self._context.forward_hooks.step_ended()
        if self._context.forward_hooks.blind:
            self._events.blind(self._context.model)
        self._parameters.step_ended()
        self._context.ended = self.steps.last_end
        # The step after a sampled one is observed as well: some compare two that follow each other.
        self._between_steps(data.step, may_skip=not sampled)

    def book(self) -> None:
        """Add the running time of our own code to the books."""
        now = time.perf_counter()
        self.budget.total += now - self.booked_until
        self.booked_until = now

    def _between_steps(self, step: int, may_skip: bool = True) -> None:
        if self.flush_cycle.is_due(step, self.steps.last_end):
            self.flush()
        self.fast_path_control.choose(may_skip)

    def flush(self, *, final: bool = False) -> None:
        """Bring the record up to date, unless it is closed."""
        if final or not (self.off or self.closed):
            self.flush_cycle.flush(final=final)

    def _reading_failed(self) -> None:
        """Reading at a fast-path step failed; as with `unharmed`, the training goes on."""
        error, self.fast_path.error = self.fast_path.error, None
        if error is not None:
            self.switch_off("fast-path step", error)

    def detach(self) -> None:
        """Remove everything from the model, its optimizers and torch. May be repeated. A part that fails or is
        interrupted does not keep the others from being removed; removal is in reverse order."""
        with ExitStack() as stack:
            stack.callback(self._gradient_order.stop)
            stack.callback(self.collectors.each, lambda collector: collector.end())
            if self._incidents is not None:
                stack.callback(self._incidents.end)
            stack.callback(self.collectors.detach, self._count.next, self.budget)
            stack.callback(self._rebuilt.close)
            stack.callback(self._optimizer_hooks.remove)
            for handle in self._handles:
                stack.callback(handle.remove)
            stack.callback(self._context.forward_hooks.remove)
            stack.callback(patches.remove_dispatcher, self)
            self.fast_path.active = False

    def caught(self, where: str, error: BaseException) -> None:
        """Handle what was raised while our code ran; exceptions that are not ours are raised again."""
        if error is self.printer.theirs:  # raised by the user's own on_finding, to stop the run
            raise error
        if is_interrupt(error) or not isinstance(error, Exception):
            self.interrupted(where, error)
            raise error
        if not self.off:
            self.switch_off(where, error)

    def interrupted(self, where: str, interrupt: BaseException) -> None:
        """Something like Ctrl-C came while our own code ran. Half-finished work could be recorded wrongly, so nothing
        more is recorded; a program that goes on trains unwatched. Every handler that the interrupt passes may call
        this."""
        self.off = self.off or f"{where}: {type(interrupt).__name__}"
        self.detach()
        if not (self.closed or self._end_noted or isinstance(interrupt, GeneratorExit | SystemExit)):
            self._end_noted = True
            try:
                self._events.interrupted()
            except Exception as another:
                pass_on_interrupts(another)

    def switch_off(self, where: str, error: Exception) -> None:
        self.off = f"{where}: {type(error).__name__}: {error}"
        self.detach()
        try:  # what was observed until then is kept, unless it is writing that fails
            self.flush_cycle.rescue()
        except Exception as another:
            pass_on_interrupts(another)
        self._end_noted = True
        self._events.switched_off(where, self.off)
