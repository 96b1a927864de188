"""The training loss is the same number at every step.

## What it sees
A training loss that repeats exactly, reading after reading.

## Why it matters
Even a network that learns nothing has another loss on another batch. A loss that repeats to the last digit does not
depend on the data or on the weights: the graph is detached, the output is a constant, all labels are masked away, or a
trainer writes 0.0 in place of NaN.

## How it decides
The last `same` or more readings are exactly equal: `rounded` of them if the number was written with few digits
(`same` will do where it was lower before, is still above `high` of its first value and shows `known` digits), and a
single-digit number never counts. From the first reading on, `alike` readings that agree to `digits` of their value are
enough: batches differ by more. A loss that fell to zero on its way may stay there (hinge losses do), and so may one
that has come down to `done` of its first value; one that is zero from its first reading may not. So may the loss of a
single batch, the whole data, that `fell` to where no gradient is left (`faded`), if that is no guess. Not judged after
the learning rate went to zero, nor for policy-optimisation surrogates.

Or one part of it is zero at all `same` readings or more, while the same part of the validation loss is not: nothing of
that kind is asked in training, because labels are missing.

Or it comes to rest without being equal: over the last third, on batches that are known to differ, the loss keeps
within `rest` of its value and scatters `calmer` times as much as in the first third or less, and that value is above
`high` of its first one; validation losses rest as well, where there are any. What a network has learned makes the
loss small, and not independent of the batch: the outputs have become one constant, as in a metric loss whose samples
all fall onto one point.

## When it is wrong
The whole data set in one batch, with a learning rate of zero on purpose.

## What to try
1. Look for `.detach()`, `.item()`, `torch.no_grad()` or numpy between the weights and the loss.
2. Count the labels that are not ignored (`(labels != -100).sum()`) in a batch.
3. Print the loss before any filter of the trainer (`logging_nan_inf_filter=False`).

## Example
>>> from bedside.testing import a_run
>>> print(*constant_loss.check(a_run(loss=[2.41386] * 60)))
LOS105 constant-loss: The loss is exactly 2.41 at each of the last 60 readings, since step 0.

## References
- transformers, `logging_nan_inf_filter`: NaN losses are logged as zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import sits_on_a_guess
from bedside.analysis.losses import training_loss_to_fall, validation_losses
from bedside.analysis.schedule import warming_up
from bedside.analysis.statistics import digits_left, how_sure, is_rounded, repeats_at_end, still_learning
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import BATCH_FINGERPRINT, GRAD_NORM
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import outputs_do_not_depend_on_the_input
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    same: int = 10  # equal readings: batches differ, so even three would be a miracle; ten leave no doubt
    rounded: int = 30  # equal readings of few digits: a stuck loss that is printed with four repeats a few times
    known: int = 3  # digits: with two a loss that is nearly at rest repeats for long
    alike: int = 20  # readings that are not quite equal: a warm-up on one batch may begin with a few such steps
    digits: float = 1e-4  # of the value: four digits that agree, where one batch differs from the next by a percent
    done: float = 1e-3  # of the first value: a run that has come down a thousandfold is finished, not frozen
    fell: float = 0.1  # of the first value: what is fitted as well as can be, and not stuck
    faded: float = 1e-4  # of the largest gradient norm: the bottom of a valley
    evaluations: int = 3  # in that third: two may agree or differ by chance
    third: int = 20  # readings of the loss in a third of the run
    marks: int = 5  # batches of that third by which it is known that they differ: fast steps are not marked
    rest: float = 5e-3  # of the value: the loss of one batch differs from that of the next by a percent and more
    calmer: float = 0.1  # times the scatter at the start: a loss that falls by a third loses as much of its scatter
    high: float = 0.5  # of the first value: smoothed labels leave a floor of a third at most
    precise: float = 1e-3  # a rounded value below this has one or two digits left, and repeats by rounding alone


@rule("LOS105", severity=Severity.WARNING, needs=[], limits=Limits())
def constant_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    if (nothing := _nothing_asked(run, limits)) is not None:
        yield nothing
        return
    series = training_loss_to_fall(run, limits.same)
    count, value = repeats_at_end(series.values), series.last
    spread = float(np.abs(series.values - value).max())
    if value and len(series) >= limits.alike and spread <= limits.digits * abs(value) and not warming_up(run):
        count = len(series)
    from_start = count == len(series)
    first = int(series.steps[len(series) - count])
    if value == 0.0 or from_start:
        frozen = from_start and count >= limits.same and not 0 < abs(value) < limits.precise
    elif abs(value) <= limits.done * abs(float(series.values[0])):
        frozen = False
    elif is_rounded(value):
        enough = limits.same if _above_its_best(series, count, limits) else limits.rounded
        frozen = count >= enough and abs(value) >= limits.precise and digits_left(series.values) > 1
    else:
        frozen = count >= limits.same
    exact = bool((series.values[-count:] == value).all())
    if not frozen and _at_rest(run, series, limits):
        count, exact, frozen = len(series) // 3, False, True
        first = int(series.steps[-count])
    if frozen and _converged(run, series, limits):
        return
    if not frozen or not still_learning(run.series("lr"), first):
        return
    yield constant_loss.finding(
        f"The loss is {'exactly ' if exact else ''}{number(value)} at each of the last {count} readings, since "
        f"{moment(run, first)}.",
        first_step=first,
        last_step=series.last_step,
        confidence=how_sure(count, limits.same / 2),
        evidence={"value": value, "readings": count, "from_start": from_start},
        series=[series.key, "grad_norm", "lr"],
        could_also_be=[
            "NaN that the trainer writes as 0.0: log the loss before any filter."
            if value == 0.0
            else outputs_do_not_depend_on_the_input(run),
            "labels that are all ignored: count those that are not, (labels != -100).sum().",
        ],
        try_=[
            "Look for .detach(), .item(), torch.no_grad() or numpy between the weights and the loss; loss.grad_fn must "
            "not be None.",
            "Count the labels of one batch that are not ignored.",
            "" if run.has(BATCH_FINGERPRINT.name) else "Check that the loader returns another batch at each step.",
        ],
    )


def _above_its_best(series: Series, count: int, limits: Limits) -> bool:
    """Whether it repeats a value that is no floor which it came down to: it was lower before, and still is high."""
    before, value = series.values[: len(series) - count], series.last
    if not len(before) or value <= 0 or digits_left(series.values) < limits.known:
        return False
    return float(before.min()) < value and value >= limits.high * float(before[0])


def _nothing_asked(run: Run, limits: Limits) -> Finding | None:
    """A part of the training loss that is zero all along, though the same part of the validation loss is not."""
    for part in (run.series(vital).finite() for vital in run.vitals if vital.startswith("part/")):
        held_out = run.series(part.vital.replace("part/", "val/", 1)).finite()
        asked = len(held_out) >= limits.evaluations and float(np.median(held_out.values)) > 0
        if len(part) < limits.same or part.values.any() or not asked:
            continue
        name, there = part.vital.removeprefix("part/"), float(np.median(held_out.values))
        return constant_loss.finding(
            f"The {name} of the training is exactly 0 at all {len(part)} readings, and on validation data it is "
            f"{number(there)}: the training data hold no targets of that kind.",
            first_step=part.first_step,
            last_step=part.last_step,
            confidence=0.9,
            evidence={"value": 0.0, "readings": len(part), "validation": there},
            series=[part.key, held_out.key],
            could_also_be=[f"a weight of zero for {name} in training only: print the weights of the loss."],
            try_=[
                "Count the labels of a few training batches: empty label files are read as pictures of nothing.",
                "Compare the folders of pictures and labels of the training data with those of the validation data.",
            ],
        )
    return None


def _converged(run: Run, series: Series, limits: Limits) -> bool:
    """Whether one and the same batch is fitted as well as can be: the loss came down, and no gradient is left."""
    marks, norms = run.series(BATCH_FINGERPRINT.name).finite(), run.series(GRAD_NORM.name).finite()
    if len(marks) < limits.marks or len(np.unique(marks.values)) > 1 or not norms:
        return False
    fell = series.last <= (1 - limits.fell) * float(series.values[0])
    guess = sits_on_a_guess(run.config, series.last)
    return fell and guess is None and 0 < norms.last <= limits.faded * float(norms.values.max())


def _at_rest(run: Run, series: Series, limits: Limits) -> bool:
    """Whether a loss that is still high no longer depends on the batch, though batches differ."""
    third = len(series) // 3
    marks = run.series(BATCH_FINGERPRINT.name).finite().since(int(series.steps[-third])).values
    if third < limits.third or len(marks) < limits.marks or len(np.unique(marks)) < len(marks) / 2:
        return False
    first, last = series.values[:third], series.values[-third:]
    level, began = float(np.median(last)), float(np.median(series.values[: limits.same]))
    for each in validation_losses(run):
        late = each.finite().since(int(series.steps[-third])).values
        if len(late) >= limits.evaluations and float(np.ptp(late)) > limits.rest * abs(float(np.median(late))):
            return False  # one constant for every input has one loss on the same data
    if not level > limits.high * began > 0 or float(np.ptp(last)) > limits.rest * level:
        return False
    return float(np.abs(np.diff(last)).mean()) <= limits.calmer * float(np.abs(np.diff(first)).mean())
