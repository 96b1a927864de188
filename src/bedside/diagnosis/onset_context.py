"""What happened within a few steps of an onset: a warm-up that ended, an epoch that began, a resume, an odd batch.

"It broke at step 8,000" is half an answer; the other half is often that the learning rate had just come down.

>>> from bedside.testing import a_run
>>> run = a_run(lr=[0.1] * 50 + [0.01] * 50)
>>> [each.what for each in changes(run)]
['the learning rate fell from 0.1 to 0.01']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.analysis.statistics import mad
from bedside.finding import Finding
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import number

NEAR = 0.005  # of the run: rules date an onset to one of some 400 places
FEW_STEPS = 3  # steps, where that is less: an optimizer's memory makes effects a step or two late
OFTEN = 0.2  # of the run lies within reach of such a change: then its being there says nothing
STEP = 2.0  # times, from one reading to the next: a schedule's usual drops are 2- to 10-fold
PEAK = 0.99  # of the highest rate: warm-up is over
NOTHING = 1e-3  # of the peak: as good as no learning rate
ODD = 8.0  # robust σ: once in a million batches of heavy-tailed noise
MIN_RELATIVE_SPREAD = (
    0.01  # of the level, for that σ: inputs that are clipped are nearly all equal, and one that is not is not odd
)
MIN_READINGS = 20  # readings that show what is usual


@dataclass(frozen=True)
class Change:
    """Something that happened at a step; changes of one `kind` are counted together."""

    step: int
    kind: str
    what: str


def with_onset_context(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """The findings, each with what else happened around its onset."""
    if not found:
        return []
    every, steps = changes(run), run.steps
    explained = []
    for each in found:
        near = [change.what for change in around(every, each.first_step, steps)]
        if each.code[:3] not in ("LOS", "NUM"):  # those speak of the loss themselves
            near += _odd_loss(run, each.first_step, max(FEW_STEPS, NEAR * steps))
        explained.append(each.with_(around=tuple(near)))
    return explained


def changes(run: Run) -> list[Change]:
    """Everything notable that happened in a run, in order of time."""
    found = [*_schedule(run), *_events(run), *_epochs(run), *_scaler(run), *_odd_batches(run)]
    return sorted(found, key=lambda change: change.step)


def around(every: Sequence[Change], step: int, steps: int) -> list[Change]:
    """Those within a few steps of `step`, nearest first; what happens all the time is left out."""
    reach = max(FEW_STEPS, NEAR * steps)
    times = Counter(each.kind for each in every)
    near = [each for each in every if abs(each.step - step) <= reach]
    rare = [each for each in near if times[each.kind] * (2 * reach + 1) <= OFTEN * steps]
    return sorted(rare, key=lambda each: abs(each.step - step))


def _schedule(run: Run) -> Iterator[Change]:
    rates = run.series("lr").finite()
    if len(rates) < FEW_STEPS or rates.values.max() <= 0:
        return
    values, steps = rates.values, rates.steps
    peak = float(values.max())
    warm = int(np.flatnonzero(values >= PEAK * peak)[0])
    only_rose = bool((np.diff(values[: warm + 1]) >= 0).all())
    if warm >= FEW_STEPS and values[0] < peak / STEP and only_rose:
        yield Change(int(steps[warm]), "warm-up", f"warm-up ended (lr {number(peak)})")
    before, after = values[:-1], values[1:]
    for i in np.flatnonzero((after * STEP <= before) | (after >= before * STEP)):
        if i >= warm or not only_rose:  # the steps of a warm-up are part of it
            verb = "fell" if after[i] < before[i] else "rose"
            said = f"the learning rate {verb} from {number(before[i])} to {number(after[i])}"
            yield Change(int(steps[i + 1]), f"rate {verb}", said)
    gone = np.flatnonzero(values > NOTHING * peak)[-1] + 1
    if gone < len(values):
        yield Change(int(steps[gone]), "end", f"the learning rate was all but gone ({number(values[gone])})")


def _events(run: Run) -> Iterator[Change]:
    mode: object = "train"  # in which a run is expected to begin
    for event in run.events:
        if event.kind == "resume":
            yield Change(event.step, "resume", "the run was resumed")
        elif event.kind == "mode":
            before, mode = mode, event.data.get("training_forwards")
            if event.step > 0 and mode != before:
                yield Change(event.step, "mode", f"training forwards ran in {mode} mode")
        elif event.kind == "coverage" and event.step > 0:
            yield Change(event.step, "coverage", "the model's or the optimizer's parameters were replaced")


def _epochs(run: Run) -> Iterator[Change]:
    if run.axis == "epoch":
        return
    begun = [event for event in run.events_of("epoch") if event.step > 0]
    for event in begun:
        yield Change(event.step, "epoch", f"epoch {number(float(event.data.get('epoch', 0)))} began")
    counted = run.series("epoch").finite()
    if not begun and len(counted) > 1:
        for i in np.flatnonzero(np.diff(np.floor(counted.values)) > 0) + 1:
            yield Change(int(counted.steps[i]), "epoch", f"epoch {number(np.floor(counted.values[i]))} began")


def _scaler(run: Run) -> Iterator[Change]:
    scale = run.series("loss_scale").finite()
    for i in np.flatnonzero(np.diff(scale.values)) + 1 if len(scale) > 1 else ():
        before, after = scale.values[i - 1], scale.values[i]
        verb = "fell" if after < before else "rose"
        yield Change(int(scale.steps[i]), f"scale {verb}", f"the loss scale {verb} to {number(after)}")
    skipped = run.series("skipped").finite()
    for step in skipped.steps[skipped.values > 0]:
        yield Change(int(step), "skipped", "the scaler skipped a step")


def _odd_batches(run: Run) -> Iterator[Change]:
    for vital, called in (("input_max", "largest input"), ("input_rms", "input size"), ("input_mean", "mean input")):
        series = run.series(vital)
        if len(series) >= MIN_READINGS:
            for i in _odd(series):
                yield Change(
                    int(series.steps[i]), "batch", f"a batch came with an unusual {called} ({number(series.values[i])})"
                )


def _odd_loss(run: Run, step: int, reach: float) -> list[str]:
    """The worst loss within reach of a step, if it is far above those before."""
    losses = run.loss.finite()
    before, near = losses.before(int(step - reach)).tail(2 * MIN_READINGS), losses.since(int(step - reach))
    near = near.before(int(step + reach) + 1)
    if len(before) < MIN_READINGS or not near:
        return []
    worst = int(np.argmax(near.values))
    spread = mad(before.values)
    odd = spread > 0 and near.values[worst] > before.median() + ODD * spread
    return [f"a batch had a loss of {number(near.values[worst])}, usually {number(before.median())}"] if odd else []


def _odd(series: Series) -> NDArray[np.intp]:
    values = series.values
    usual = series.median()
    spread = max(mad(series.finite().values), MIN_RELATIVE_SPREAD * abs(usual))
    return np.flatnonzero(~(np.abs(values - usual) <= ODD * spread))
