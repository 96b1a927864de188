"""Between two steps: whether the next ones are quiet, and who listens to the next one that is not.

Steps are quiet where nothing is due and the loop is plain; what is done at them is in `quiet.py`. A stretch of them is
over when something is due again, or when it is woken: then whoever listens is told what was missed of the step that is
under way, and the steps before it are put with the others.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bedside.collect.collector import Patient
from bedside.collect.collector_set import Ensemble
from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.nested_steps import outermost
from bedside.collect.model.gradient_order import Arrival
from bedside.collect.sampling.budget import LISTENING, Governor
from bedside.collect.sampling.flush_timing import MOST, Flushes
from bedside.collect.sampling.intervals import FULL_STEPS
from bedside.collect.step.fast_path import Quiet
from bedside.collect.step.loss import LossListener
from bedside.collect.step.optimizer_step import StepListener
from bedside.collect.step.step_rows import Pulse


class Resting:
    """Begins, wakes and settles the stretches of quiet steps."""

    def __init__(
        self,
        quiet: Quiet,
        patient: Patient,
        ensemble: Ensemble,
        arrival: Arrival,
        losses: LossListener,
        steps: StepListener,
        pulse: Pulse,
        flushes: Flushes,
        governor: Governor,
    ) -> None:
        self._quiet = quiet
        self._patient = patient
        self._ensemble = ensemble
        self._arrival = arrival
        self._losses = losses
        self._steps = steps
        self._pulse = pulse
        self._flushes = flushes
        self._governor = governor
        self._beginnings: list[Any] = []  # handles of the hooks that hear a step begin

    @property
    def step(self) -> int:
        """The number of the next step: quiet ones count before they are settled."""
        return self._steps.next_step + len(self._quiet)

    def hear_beginnings(self) -> None:
        """Of all steps, until they are quiet and nothing is read at them."""
        self._beginnings = [
            each.register_step_pre_hook(outermost(self._quiet.before_step, each)) for each in self._patient.optimizers
        ]

    def ignore_beginnings(self) -> None:
        while self._beginnings:
            self._beginnings.pop().remove()

    def choose(self, may_rest: bool) -> None:
        """The next steps are quiet, if they may be; or else whoever is due listens to the next one."""
        self._patient.step = self.step
        steps = self._most()
        if not steps:
            self.attach_collectors()
        elif may_rest and self._plain():
            self._begin(steps)

    def attach_collectors(self) -> None:
        """The next step begins: whoever is due listens to it."""
        step, cadence = self.step, self._governor.cadence
        self._patient.step = step
        self._ensemble.attach(step, cadence)
        self._patient.door.expect(self._ensemble.attached)
        if step + 1 >= cadence.full_until:
            cadence.rest(step + 1, [*self._ensemble.sampled, *self._steps.groups, LISTENING])

    def _most(self) -> int:
        """How many steps may be quiet from here on."""
        reads_on = self._governor.budget is None and not self._ensemble and self.step >= FULL_STEPS
        return MOST if reads_on else self._governor.cadence.quiet(self.step)

    def _plain(self) -> bool:
        """Whether the loop is one whose steps can be quiet."""
        optimizers = self._patient.optimizers
        return (
            len(optimizers) == 1
            and len(patches.LISTENING) == 1
            and self._patient.scaler is None
            and not self._arrival.listening
            and self._losses.probe is not None
            and self._losses.empty
            and self._steps.idle
            and not self._steps.closures
            and self._patient.door.restful
            and not self._ensemble.tireless
            and not any(isinstance(group["lr"], Tensor) for group in optimizers[0].param_groups)
        )

    def _begin(self, steps: int) -> None:
        """The next steps are quiet."""
        probe, at_hand, ended = self._losses.probe, self._losses.at_hand, self._steps.last_end
        if probe is not None and ended is not None:
            patient = self._patient
            self._losses.rest()
            self._quiet.listen_to(patient.layout, probe, patient.optimizers[0], patient.door.rest(), at_hand)
            if self._governor.budget is None and self._steps.groups:
                self._quiet.read(self._steps.reader_at_rest())
            elif probe.grad is not None:  # the end of a step then tells as much as its beginning
                self.ignore_beginnings()
            steps, deadline = min(steps, MOST), self._flushes.deadline(at_hand)
            self._quiet.begin(self.step, ended, self._steps.epoch, steps=steps, deadline=deadline)

    def wake(self) -> None:
        """The stretch is over: whoever listens is told what was missed of the step that is under way."""
        quiet = self._quiet
        quiet.on = False
        if not self._beginnings:
            self.hear_beginnings()
        self.settle()
        for forward in self._patient.door.wake():
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

    def settle(self) -> None:
        """Quiet steps that are over are put with the others."""
        block = self._quiet.take()
        self._governor.total += self._quiet.spent
        self._governor.summing += self._quiet.spent if block.readings else 0.0
        self._quiet.spent = 0.0
        if len(block):
            self._steps.next_step += len(block)
            self._patient.untold += len(block)
            self._steps.last_end = self._patient.ended = block.ends[-1]
            self._pulse.rest(block, self._patient.freight)
            self._governor.rested(self._steps.next_step - 1, len(block), block.ends[-1] - block.began)
            self._patient.step = self._steps.next_step
