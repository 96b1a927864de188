"""Between two steps: whether the next ones can take the fast path, and which collectors observe the next one that
cannot.

Steps take the fast path where nothing is due and the loop is plain; what is done at them is in `fast_path.py`. A batch
of them ends when something is due again or the fast path is left: then the collectors get what they missed of the
current step, and the steps before it are merged with the others.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from bedside.collect.collector import WatchContext
from bedside.collect.collector_set import CollectorSet
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.optimizer_hooks import OptimizerHooks
from bedside.collect.model.gradient_order import GradientOrder
from bedside.collect.sampling.budget import MOMENTS_GROUP, Budget
from bedside.collect.sampling.flush_timing import MAX_WAITING_STEPS, Flushes
from bedside.collect.sampling.intervals import EARLY_STEPS
from bedside.collect.step.fast_path import FastPath
from bedside.collect.step.loss import LossListener
from bedside.collect.step.optimizer_step import StepListener
from bedside.collect.step.step_count import StepCount
from bedside.collect.step.step_rows import StepRows
from bedside.record.median import median


class FastPathControl:
    """Starts and leaves the fast path, and settles batches of fast-path steps."""

    def __init__(
        self,
        fast_path: FastPath,
        context: WatchContext,
        collectors: CollectorSet,
        gradient_order: GradientOrder,
        losses: LossListener,
        steps: StepListener,
        count: StepCount,
        step_rows: StepRows,
        flushes: Flushes,
        budget: Budget,
        optimizer_hooks: OptimizerHooks,
    ) -> None:
        self.fast_path = fast_path
        self._context = context
        self._collectors = collectors
        self._gradient_order = gradient_order
        self._losses = losses
        self._steps = steps
        self._count = count
        self._step_rows = step_rows
        self._flushes = flushes
        self._budget = budget
        self._optimizer_hooks = optimizer_hooks

    def choose(self, may_skip: bool) -> None:
        """The next steps take the fast path if they may; otherwise the collectors that are due observe the next one."""
        self._context.step = self._count.next
        steps = self._steps_to_skip()
        if not steps:
            self.attach_collectors()
        elif may_skip and self._loop_is_plain():
            self._start(steps)

    def attach_collectors(self) -> None:
        """The next step begins: collectors that are due observe it."""
        step, intervals = self._count.next, self._budget.intervals
        self._context.step = step
        self._collectors.attach(step, intervals)
        self._context.forward_hooks.expect(self._collectors.attached)
        if step + 1 >= intervals.full_until:
            intervals.plan_fast_path(step + 1, [*self._collectors.sampled, *self._steps.groups, MOMENTS_GROUP])

    def _steps_to_skip(self) -> int:
        """How many steps may take the fast path from here on."""
        reads_on = self._budget.limit is None and not self._collectors and self._count.next >= EARLY_STEPS
        return MAX_WAITING_STEPS if reads_on else self._budget.intervals.fast_steps(self._count.next)

    def _loop_is_plain(self) -> bool:
        """Whether the loop is one whose steps can take the fast path."""
        optimizers = self._context.optimizers
        return (
            len(optimizers) == 1
            and len(patches.ACTIVE) == 1
            and self._context.scaler is None
            and not self._gradient_order.listening
            and self._losses.probe is not None
            and self._losses.empty
            and self._losses.zeroing
            and self._steps.idle
            and not self._steps.closures
            and not (self._steps.edits_gradients and self._budget.limit is None)
            and self._context.forward_hooks.fast_path_possible
            and not self._collectors.needs_every_step
            and not any(isinstance(group["lr"], Tensor) for group in optimizers[0].param_groups)
        )

    def _start(self, steps: int) -> None:
        """The next steps take the fast path."""
        probe, on_cpu, ended = self._losses.probe, self._losses.on_cpu, self._steps.last_end
        if probe is not None and ended is not None:
            context = self._context
            self._losses.enter_fast_path()
            self.fast_path.configure(
                context.layout,
                probe,
                context.optimizers[0],
                context.forward_hooks.enter_fast_path(context.thread.ident),
                on_cpu,
                thread=context.thread.ident,
                grads_kept=self._losses.grads_kept,
            )
            if self._budget.limit is None and self._steps.groups:
                self.fast_path.read_norms_with(self._steps.fast_path_reader())
            elif probe.grad is not None:  # the end of a step then tells as much as its beginning
                self._optimizer_hooks.remove_before()
            steps, deadline = min(steps, MAX_WAITING_STEPS), self._flushes.deadline(on_cpu)
            self.fast_path.start(self._count.next, ended, self._steps.epoch, steps=steps, deadline=deadline)

    def leave_fast_path(self) -> None:
        """If it is active, it is left: the collectors get what they missed of the current step."""
        fast_path = self.fast_path
        if not fast_path.active:
            return
        fast_path.active = False
        self._optimizer_hooks.install_before()
        self.settle()
        if fast_path.not_zeroed:
            fast_path.not_zeroed = False
            self._losses.doubt_zeroing(fast_path.after_last_step)
        for forward in self._context.forward_hooks.leave_fast_path():
            self._losses.forward_began()
            self._collectors.notify("forward_begins", forward)
        if fast_path.call is not None:
            function, args, kwargs = fast_path.call
            self._collectors.notify("loss_computed", function, *patches.prediction_and_target(*args, **kwargs))
        if (loss := fast_path.own_loss) is not None:
            self._losses.add_skipped(loss)
            self._collectors.notify("backward_begins", (), [loss])
            self._collectors.notify("backward_ended", True)
        if fast_path.clip is not None:
            self._steps.clipped_all(*fast_path.clip)
        fast_path.loss = fast_path.call = fast_path.clip = None

    def settle(self) -> None:
        """Merge finished fast-path steps with the others."""
        steps = self.fast_path.take_steps()
        self._budget.total += self.fast_path.spent
        self._budget.sum_seconds += self.fast_path.spent if steps.readings else 0.0
        self.fast_path.spent = 0.0
        if len(steps):
            self._count.settled += len(steps)
            self._context.skipped_steps += len(steps)
            self._steps.last_end = self._context.ended = steps.ends[-1]
            self._step_rows.add_batch(steps, self._context.queue)
            took = np.diff([steps.began, *steps.ends])
            self._budget.fast_steps_took(self._count.settled - 1, len(steps), float(took.sum()), usual=median(took))
            self._context.step = self._count.settled
