"""Inputs are so large that arithmetic itself becomes the problem.

## What it sees
The largest input is beyond anything a normalised feature can be: a timestamp, an identifier, a code for "missing".

## Why it matters
The first layer multiplies it through, so one feature decides everything, gradients are as large as the feature, and
half-precision overflows at 65,504.

## How it decides
The largest absolute value, in the usual sampled batch, is above `large`. A single batch that stands out is left to
bad-batch. Or inputs grow: the last is above `large`, and above each of the `growing` readings before it, of which each
is above the one before. Where the first module brings them down below `tamed`, it is a note.

## When it is wrong
A model that normalises its input in a function of its own, before its first layer.

## What to try
1. Standardise each feature: subtract its mean, divide by its standard deviation, both from the training set.
2. Replace codes such as −9999 for missing values by the mean and an indicator; take logarithms of amounts.
3. Where inputs grow from epoch to epoch, something changes the stored data in place: `x -= mean` on a view.

## Example
>>> from bedside.testing import a_run
>>> print(*extreme_input.check(a_run(loss=1.0, input_max=1.7e9, input_std=6e8)))
DAT102 extreme-input: Inputs reach 1.7e9 in the usual batch: one such feature drowns all others.

## References
- LeCun et al. (1998), Efficient backprop: section 4.3, normalising the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.statistics import how_sure
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import ACTIVATION_RMS, INPUT_MAX, INPUT_STD
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    large: float = 1e5  # no sensor, pixel or standardised feature comes near; float16 ends at 65,504
    growing: int = 5  # readings, which data do by chance once in 700 times, and then not to `large`
    tamed: float = 100.0  # of what the first module puts out: layers are made for numbers near one


@rule("DAT102", severity=Severity.WARNING, needs=[INPUT_MAX], limits=Limits())
def extreme_input(run: Run, limits: Limits) -> Iterator[Finding]:
    largest = run.series(INPUT_MAX.name)
    usual, late = largest.median(), largest.finite().tail(limits.growing + 1)
    if not usual > limits.large:
        yield from _grown(largest, late, limits)
        return
    tamed_by = _tamed_by(run, limits)
    harm = f"`{tamed_by}` normalises them first" if tamed_by else "one such feature drowns all others"
    yield extreme_input.finding(
        f"Inputs reach {number(usual)} in the usual batch: {harm}.",
        severity=Severity.NOTE if tamed_by else None,
        first_step=largest.first_step,
        last_step=largest.last_step,
        confidence=how_sure(usual, limits.large, most=0.9),
        evidence={"usual_largest": usual, "usual_spread": run.series(INPUT_STD.name).median()},
        series=[INPUT_MAX.name],
        could_also_be=()
        if tamed_by or run.owners(ACTIVATION_RMS.name)
        else ("A first layer that normalises its input.",),
        try_=(
            "Standardise each feature with the mean and standard deviation of the training set.",
            "Replace codes for missing values, and take logarithms of amounts.",
        ),
    )


def _grown(largest: Series, late: Series, limits: Limits) -> Iterator[Finding]:
    """Data that something multiplies again and again."""
    if len(late) <= limits.growing or not (
        late.last > limits.large and bool((late.values[1:] > late.values[:-1]).all())
    ):
        return
    first = float(largest.values[0])
    yield extreme_input.finding(
        f"Inputs grow while the run goes on: they reached {number(first)} at first and {number(late.last)} at last.",
        first_step=late.first_step,
        last_step=late.last_step,
        confidence=0.9,
        evidence={"first": first, "last": late.last},
        series=[INPUT_MAX.name],
        could_also_be=("A stream whose numbers count upwards, such as times.",),
        try_=(
            "Look for what changes the stored data in place at every epoch: `x -= mean` or `x /= std` on a view.",
            "Normalise once, before the loop, or a copy of the batch.",
        ),
    )


def _tamed_by(run: Run, limits: Limits) -> str:
    """The first module, if what it makes of these inputs is of usual size; empty if it is not, or was not recorded."""
    for owner in list(run.owners(ACTIVATION_RMS.name))[:1]:
        if run.series(ACTIVATION_RMS.name, owner).finite().median() < limits.tamed:
            return owner
    return ""
