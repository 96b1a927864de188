"""The step once more: the same weights, batches, random numbers and precision. Does it fail again, where, and why?

A step that fails again is data or code, and the operation, its line and the samples are named. One that does not is
non-determinism or hardware. The word "cause" is used for samples only where the step was run with and without them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import nn

from bedside.collect.hooks.unrecorded import unrecorded
from bedside.incident.capture.capture import stack
from bedside.incident.numeric_settings import numerics_of
from bedside.incident.replay.attribution import bad_rows, by_halving, shares
from bedside.incident.replay.kept_batch import KeptBatch, KeptLoss, autocast_of
from bedside.incident.replay.matching import refuse_another, replayable_batches
from bedside.incident.replay.outcome import Outcome, compare, fails, height, limit, outcome_of, restore_model
from bedside.incident.replay.replay_result import Experiment, Replay
from bedside.training.forward import Forward, LossFunction
from bedside.training.nonfinite.hunt import already_bad, hunt
from bedside.training.nonfinite.module_check import ModuleCheck
from bedside.training.preserve import preserved
from bedside.training.step import Loop, Training

if TYPE_CHECKING:
    from bedside.incident.incident import Incident

LIKE_ITSELF = 1e-6  # relative: two losses of which one was divided by a whole number
SUSPECTS = (1, 2, 4, 8)  # samples to leave out, those with the largest share of the gradient first


def replay(
    incident: Incident,
    model: nn.Module,
    loss_fn: LossFunction | None = None,
    *,
    forward: Forward | None = None,
    anyway: bool = False,
) -> Replay:
    """Run the step again; see `Incident.replay`."""
    batches = replayable_batches(incident)
    notes = refuse_another(incident, model, anyway)
    scale = incident.facts["loss_scale"]
    training = Training(model, batches, loss_fn, loop=Loop(autocast=autocast_of(batches[0], model)))
    training.loss = loss = KeptLoss(model, loss_fn, forward, scale)
    with unrecorded(model), preserved(model) as state, numerics_of(incident.facts["numerics"]):
        again = _Again(incident, training, loss, batches, state.clear_gradients)
        result = again.result()
    return dataclasses.replace(result, notes=tuple(notes))


class _Again:
    """The runs of one replay."""

    def __init__(
        self,
        incident: Incident,
        training: Training,
        loss: KeptLoss,
        batches: Sequence[KeptBatch],
        clear: Callable[[], None],
    ) -> None:
        self._incident = incident
        self._training = training
        self._loss = loss
        self._batches = batches
        self._clear_gradients = clear

    def result(self) -> Replay:
        incident = self._incident
        restore_model(self._incident, self._training.model)
        self._loss.divisor = self._divisor()
        outcome = self._run(self._batches)
        reproduced = fails(incident, outcome)
        exact, differences = compare(incident, self._batches, outcome)
        base = Replay(incident.step, incident.kind, reproduced, exact, differences, outcome.losses)
        if outcome.error is not None:
            lines = stack(outcome.error)
            return dataclasses.replace(base, line=lines[-1] if lines else "")
        if incident.kind == "spike":
            return self._spike(base, outcome)
        return self._nonfinite(base, outcome) if reproduced else base

    # The step.

    def _run(self, batches: Sequence[KeptBatch]) -> Outcome:
        restore_model(self._incident, self._training.model)
        self._clear_gradients()
        training, losses = self._training, []
        error: Exception | None = None
        try:
            for batch in batches:
                if batch.random is not None:
                    batch.random.restore()
                loss = training.batch_loss(batch)
                losses.append(loss.item() / self._loss.scale)
                if loss.requires_grad:
                    loss.backward()
        except Exception as failed:
            if not self._incident.facts["error"]:
                raise
            error = failed
        return outcome_of(training.model, losses, error)

    def _divisor(self) -> int:
        """By how much the loop divided each loss: seen where a recorded loss is a whole part of the one here."""
        for batch in self._batches:
            if batch.loss is None or not math.isfinite(batch.loss) or not batch.loss:
                continue
            if batch.random is not None:
                batch.random.restore()
            try:
                here = self._training.batch_loss(batch).item() / self._loss.scale
            except Exception:  # what it fails with is seen when the step is run
                return 1
            times = here / batch.loss
            whole = round(times) if math.isfinite(times) else 1
            return whole if whole > 1 and abs(times - whole) < LIKE_ITSELF * whole else 1
        return 1

    # What a failure is about.

    def _nonfinite(self, base: Replay, outcome: Outcome) -> Replay:
        restore_model(self._incident, self._training.model)
        self._clear_gradients()
        model = self._training.model
        if culprit := already_bad(model):
            return dataclasses.replace(base, culprit=culprit)
        check = ModuleCheck(model)
        with check.attached():
            for number_, batch in enumerate(self._batches):
                if batch.random is not None:
                    batch.random.restore()
                if culprit := hunt(self._training, number_, check):
                    experiment = self._with_and_without(number_, self._suspects(number_))
                    return dataclasses.replace(base, culprit=culprit, experiment=experiment)
        return base

    def _suspects(self, number_: int) -> list[int]:
        restore_model(self._incident, self._training.model)
        batch = self._training.batches[number_]
        rows = bad_rows(self._training, self._loss, batch)
        if len(rows) < batch.rows:
            return rows
        search = by_halving(range(batch.rows))  # all of them: one sample has spoilt the others
        try:
            part = next(search)
            while True:
                part = search.send(self._is_sound(batch.only(part)))
        except StopIteration as found:
            return list(found.value)

    def _is_sound(self, batch: KeptBatch) -> bool:
        try:
            outcome = self._run([batch])
        except Exception:  # batch norm refuses a single sample: nothing is known
            return True
        return outcome.is_finite

    def _with_and_without(self, number_: int, rows: Sequence[int]) -> Experiment | None:
        batch = self._training.batches[number_]
        others = [row for row in range(batch.rows) if row not in rows]
        if not rows or not others:
            return None
        whole, rest = self._run([batch]), self._run([batch.only(others)])
        if self._incident.kind == "spike":
            heights = height(self._incident, whole), height(self._incident, rest)
            decides = heights[0] > limit(self._incident) >= heights[1]
        else:
            heights = whole.losses[0], rest.losses[0]
            decides = rest.is_finite and not whole.is_finite
        return Experiment(tuple(rows), tuple(batch.sample(row) for row in rows), *heights, decides)

    def _spike(self, base: Replay, outcome: Outcome) -> Replay:
        """The samples with the largest shares; and whether the step is an ordinary one without the first of them."""
        number_ = max(range(len(outcome.losses)), key=lambda each: outcome.losses[each])
        restore_model(self._incident, self._training.model)
        samples = shares(self._training, self._loss, self._training.batches[number_])
        experiment = None
        for many in SUSPECTS if base.reproduced else ():
            if len(samples) > many:
                experiment = self._with_and_without(number_, [each.row for each in samples[:many]])
                if experiment is not None and experiment.decides:
                    break
        return dataclasses.replace(base, samples=tuple(samples), experiment=experiment)
