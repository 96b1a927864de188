"""The optimizer's side of a step: gradients and learning rates before it, the change it made after it.

With several optimizers on one model (a GAN) a step is one round: it ends when each has stepped, or when one of
them steps again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading.device_queue import DeviceQueue, reading
from bedside.collect.reading.norm_reader import Reader, leaves_gradients_alone
from bedside.collect.reading.partial_updates import PARTS, WHOLE_UP_TO, PartialUpdates
from bedside.collect.sampling.budget import Budget
from bedside.collect.step.clipping import ClipCall, members_of
from bedside.collect.step.hand_clipping import HandClipping
from bedside.collect.step.loss import LossListener
from bedside.collect.step.step_count import StepCount
from bedside.collect.step.step_data import Gradients, Members, Moves, Number, PartMoves, StepData, Unclipped
from bedside.collect.step.unclipped_gradients import UnclippedGradients


class StepListener:
    """Reads around `optimizer.step`, and hands on the data of every step that is over, to whom `on_finished` names."""

    def __init__(
        self,
        optimizers: Sequence[Optimizer],
        layout: Layout,
        losses: LossListener,
        queue: DeviceQueue,
        budget: Budget,
        count: StepCount,
        gradients: bool = True,
        updates: bool = True,
    ) -> None:
        self.optimizers = list(optimizers)
        self.layout = layout
        self.on_finished: Callable[[StepData], None] = lambda data: None
        self.epoch: float | None = None
        self._losses = losses
        self._queue = queue
        self._budget = budget
        self._count = count
        self._want_gradients, self.want_updates = gradients, updates
        self.groups = ["gradients"] * gradients + ["updates"] * updates  # the vital groups that are read here
        self._data: StepData | None = None
        self._stepped: set[int] = set()
        self._clips: list[tuple[ClipCall, Number]] = []
        self._gradients_due = self._updates_due = False
        self._readers: dict[int, Reader] = {}
        self._partial_updates: dict[int, PartialUpdates] = {}
        self._part = 0
        self.hand_clipping = HandClipping()
        self._clips_by_value = False
        self._unclipped: list[Unclipped] = []
        self._after_backward: Unclipped | None = None  # as they were when the last backward was over
        self._backwards = 0  # that the last step had
        self._stepping = False  # inside an optimizer's step, after its gradients were read
        self._evaluations: bool | None = None  # whether closures are evaluated more than once, if there are any
        self._first_evaluation: Gradients | None = None
        self.closures = False  # a step was given a closure, in which its backward runs
        self.last_end: float | None = None  # of the last step, by the clock
        self._remembering = 0.0  # seconds the first half of reading an update took
        self._members: dict[int, Members] = {}
        self.relayout(layout)

    def relayout(self, layout: Layout) -> None:
        """The model's trainable parameters have changed."""
        self.layout = layout
        self._size = sum(p.numel() for p in layout.parameters)
        self._partial_updates, self._part = {}, 0
        self._members = {id(optimizer): self._members_of(optimizer) for optimizer in self.optimizers}
        self._readers = {id(optimizer): Reader(self._parameters(optimizer)) for optimizer in self.optimizers}
        whole = self._readers[id(self.optimizers[0])] if len(self.optimizers) == 1 else None
        self._unclipped_gradients = UnclippedGradients(layout, self._queue, whole)

    def replace(self, old: Optimizer, new: Optimizer) -> None:
        """Another one steps these parameters from now on."""
        if self.mid_round:
            self.close_step()
        self.optimizers = [new if each is old else each for each in self.optimizers]
        self._data = None
        self.relayout(self.layout)

    def _members_of(self, optimizer: Optimizer) -> Members:
        """Which parameters to read when this one steps; those that nobody holds are read with the first."""
        if len(self.optimizers) == 1:
            return None
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if optimizer is self.optimizers[0]:
            others = {id(p) for o in self.optimizers[1:] for g in o.param_groups for p in g["params"]}
            held |= {id(p) for p in self.layout.parameters if id(p) not in others}
        return np.asarray([i for i, p in enumerate(self.layout.parameters) if id(p) in held], np.int64)

    # The moments, in order.

    def backward_ended(self) -> None:
        """One of ours, whose gradients may be edited before the step: clipped by hand, or by the next evaluation."""
        self._after_backward, self._stepping = None, False
        if len(self.optimizers) > 1 or not self._reads_gradients:
            return
        began = time.perf_counter()
        if self._losses.in_step:
            if self._evaluations is not False and not self._losses.in_later_evaluation:
                self._first_evaluation = self._unclipped_gradients.gradients()
        elif self.hand_clipping.is_due and self._losses.waiting >= self._backwards and not self._clips:
            self._after_backward = self._unclipped_gradients.read(None, None)
        self._budget.add("gradients", time.perf_counter() - began)

    def clipped_by_value(self, parameters: Sequence[Tensor], threshold: float) -> None:
        """Before the call."""
        members = members_of(parameters, self.layout)
        if isinstance(members, bool) or self._ignores_clipping:
            return
        self._clips_by_value = True
        self._clip_call_came()
        if self._reads_gradients and not self._clips:  # what a clip call has left is not what there was
            read = self._unclipped_gradients.read(members, float(threshold))
            self._unclipped += [] if read is None else [read]

    def clipped(self, parameters: Sequence[Tensor], max_norm: float, total: Tensor) -> None:
        members = members_of(parameters, self.layout)
        if not isinstance(members, bool) and not self._ignores_clipping:
            self._clip_call_came()
            norm = reading(total)
            call = ClipCall(members, float(max_norm))
            self._clips.append((call, self._queue.put(norm) if isinstance(norm, Tensor) else norm))

    def _clip_call_came(self) -> None:
        if self._after_backward is not None:
            self._after_backward = None
            self.hand_clipping.clip_call_came()

    def clipped_all(self, max_norm: float, total: float | Tensor) -> None:
        """A call over all gradients, observed at a fast-path step."""
        norm = self._queue.put(total) if isinstance(total, Tensor) else total
        self._clips.append((ClipCall(None, max_norm), norm))

    def before(self, optimizer: Optimizer, closure: bool) -> None:
        data = self._open(optimizer)
        if data.rates is None:
            self._read_rates(data)
        self._losses.in_step = closure
        self._stepping = not closure
        self.closures |= closure
        if not closure:
            self._read_gradients(optimizer, data)
        if self._updates_due:
            self._remember_weights(optimizer)

    def after(self, optimizer: Optimizer, closure: bool) -> None:
        data = self._open(optimizer)
        self._stepping = False
        if closure:  # the backward ran inside the step; its gradients are still there
            self._read_gradients(optimizer, data)
            self._evaluations = self._losses.in_later_evaluation
        if self._updates_due:
            self._read_moves(optimizer, data)
        self._take_losses(data)
        self._stepped.add(id(optimizer))
        if len(self._stepped) == len(self.optimizers):
            self.close_step()

    def skipped(self, optimizer: Optimizer, loss_scale: Tensor | None) -> None:
        """A scaler found infinities and did not call the optimizer."""
        data = self._open(optimizer)
        data.skipped = True
        if loss_scale is not None:
            data.loss_scale = self._queue.put(loss_scale)
        if data.rates is None:
            self._read_rates(data)
        self._take_losses(data)
        self._clips = []
        self._stepped.add(id(optimizer))
        if len(self._stepped) == len(self.optimizers):
            self.close_step()

    def scaler_will_step(self, optimizer: Optimizer, loss_scale: Tensor | None) -> None:
        data = self._open(optimizer)
        data.skipped = False
        if loss_scale is not None:
            data.loss_scale = self._queue.put(loss_scale)

    def close_step(self) -> None:
        """The round is over: hand the step's data on and start counting the next step."""
        data, self._data = self._data, None
        self._stepped.clear()
        if data is None:
            return
        now = time.perf_counter()
        if self.last_end is not None:
            data.seconds = now - self.last_end
        self.last_end = now
        if data.part_moves:
            self._part = (self._part + 1) % PARTS
        self._count.settled += 1
        self.on_finished(data)

    def fast_path_reader(self) -> Reader:
        """Reads fast-path steps of the only optimizer."""
        optimizer = self.optimizers[0]
        reader = self._readers[id(optimizer)]
        reader.expect(updates=self.want_updates, left_alone=leaves_gradients_alone(optimizer))
        return reader

    @property
    def _ignores_clipping(self) -> bool:
        """Whether it is the optimizer's own business: inside its step, or in a later evaluation of its closure."""
        return self._stepping or self._losses.in_later_evaluation

    @property
    def edits_gradients(self) -> bool:
        """Whether what the optimizer gets is not what the backward gave, so that both have to be read."""
        return self._clips_by_value or self.hand_clipping.edits

    @property
    def mid_round(self) -> bool:
        return bool(self._stepped)

    @property
    def idle(self) -> bool:
        """Between steps: nothing has been read that a new layout would not fit."""
        return self._data is None and not self._losses.in_step

    # How each is read.

    def _open(self, optimizer: Optimizer) -> StepData:
        if id(optimizer) in self._stepped:
            self.close_step()
        if self._data is None:
            step = self._count.settled
            self._updates_due, self._gradients_due = self._due(step)
            self._data = StepData(step, time.time(), self.layout, self.epoch)
        return self._data

    def _due(self, step: int) -> tuple[bool, bool]:
        """Whether updates and gradients are read at this step."""
        intervals = self._budget.intervals
        if intervals.fast_steps(step):
            return False, False
        # An update is judged beside the gradient it came from, so both are read at its steps.
        updates = self.want_updates and intervals.due("updates", step)
        return updates, updates or (self._want_gradients and intervals.due("gradients", step))

    @property
    def _reads_gradients(self) -> bool:
        """Whether those of the step that is under way, or about to begin, are read."""
        return self._gradients_due if self._data is not None else self._due(self._count.settled)[1]

    def _read_rates(self, data: StepData) -> None:
        """The learning rate of every group of every optimizer, as this step is about to use it."""
        rates: dict[str, Number] = {}
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                owner = f"group_{len(rates)}" if rates else ""
                rate = group["lr"]
                rates[owner] = self._queue.put(rate.clone()) if isinstance(rate, Tensor) else rate
        data.rates = rates

    def _parameters(self, optimizer: Optimizer) -> Sequence[Tensor]:
        members = self._members[id(optimizer)]
        mine = self.layout.parameters
        return mine if members is None else [mine[i] for i in members]

    def _take_losses(self, data: StepData) -> None:
        self._losses.in_step = False
        self._backwards = self._losses.waiting
        observed = self._losses.take()
        data.discarded += 0 if self._losses.trains_inputs else observed.discarded
        if observed.values:
            put = self._queue.put
            losses = [put(value) if isinstance(value, Tensor) else value for value in observed.values]
            data.losses = (*data.losses, losses)
            data.divisors = (*data.divisors, observed.divisors)
            origins = [origin and origin.queued(self._queue) for origin in observed.origins]
            data.origins = (*data.origins, (origins, observed.forwards))
        if observed.grads_not_zeroed is not None:
            data.grads_not_zeroed = observed.grads_not_zeroed

    def _read_gradients(self, optimizer: Optimizer, data: StepData) -> None:
        if self._clips:
            data.clips, self._clips = (*data.clips, *self._clips), []
        (first, self._first_evaluation) = (self._first_evaluation, None)
        unclipped, self._unclipped = self._unclipped, []
        if not self._gradients_due:
            return
        began = time.perf_counter()
        data.unclipped = (*data.unclipped, *unclipped, *self._edited_since_backward(data))
        if first is not None and self._losses.in_later_evaluation:  # those that are there now belong to the last one
            data.gradients = (*data.gradients, first)
            return
        if not self._parameters(optimizer):
            return
        squares, absent = self._readers[id(optimizer)].gradients()
        scale = getattr(optimizer, "grad_scale", None)
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None:
            data.found_inf = self._queue.put(found_inf.clone())
        read = Gradients(
            members=self._members[id(optimizer)],
            squares=self._queue.put(squares),
            absent=absent,
            scale=self._queue.put(scale.clone()) if isinstance(scale, Tensor) else None,
        )
        data.gradients = (*data.gradients, read)
        self._budget.add("gradients", time.perf_counter() - began)

    def _edited_since_backward(self, data: StepData) -> list[Unclipped]:
        """What was read when the backward was over, for a comparison with what the optimizer gets."""
        read, self._after_backward = self._after_backward, None
        self.hand_clipping.step_was_read(twice=read is not None)
        if read is None or data.skipped is not None:  # a scaler divides them
            return []
        read.largest_after = self._unclipped_gradients.largest(None)
        return [read]

    def _remember_weights(self, optimizer: Optimizer) -> None:
        parameters = self._parameters(optimizer)
        if not parameters:
            return
        began = time.perf_counter()
        if self.updates_in_parts:
            if id(optimizer) not in self._partial_updates:
                self._partial_updates[id(optimizer)] = PartialUpdates(parameters)
            self._partial_updates[id(optimizer)].remember(parameters, self._part)
        else:
            self._readers[id(optimizer)].remember(self._count.settled)
        self._remembering = time.perf_counter() - began

    @property
    def updates_in_parts(self) -> bool:
        """Whether updates are measured part by part: a large model, and a budget that samples it anyway."""
        return self._budget.limit is not None and self._size > WHOLE_UP_TO

    def _read_part(self, optimizer: Optimizer, data: StepData) -> None:
        began = time.perf_counter()
        partial_updates, members = self._partial_updates[id(optimizer)], self._members[id(optimizer)]
        members = np.arange(len(self.layout)) if members is None else members
        put = self._queue.put
        change, size, gradient = partial_updates.measure(self._parameters(optimizer), self._part)
        read = PartMoves(
            self._part,
            members[partial_updates.places(self._part)],
            members,
            partial_updates.last,
            updates=put(change),
            weights=put(size),
            gradients=put(gradient),
        )
        data.part_moves = (*data.part_moves, read)
        self._budget.add("updates", time.perf_counter() - began + self._remembering)

    def _read_moves(self, optimizer: Optimizer, data: StepData) -> None:
        if id(optimizer) in self._partial_updates:
            self._read_part(optimizer, data)
            return
        began = time.perf_counter()
        if (moves := self._readers[id(optimizer)].moves(data.step)) is None:
            return
        updates, weights = map(self._queue.put, moves)
        data.moves = (*data.moves, Moves(self._members[id(optimizer)], updates, weights))
        self._budget.add("updates", time.perf_counter() - began + self._remembering)


def has_closure(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """The hook gets (optimizer, closure) as positional arguments, or the closure by name."""
    return (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
