"""Inputs are far from zero mean and unit spread, or codes that are given as numbers.

## What it sees
A mean far from zero, or a spread far from one, in the first floating-point input. Columns of a table that lie far from
zero, measured in their own spread, or are of very different widths. Columns of codes that go in as they are.

## Why it matters
Learning rates, initialisations and weight decay are chosen for inputs of about unit size. With pixels of 0 to 255 the
first layer's gradients are a hundred times larger than the others', and no one learning rate suits both. A column whose
numbers are all about 1.00 says what it says in the second decimal, and the network hears hardly anything of it. Of
codes it hears that product 12 lies between 11 and 13.

## How it decides
Root mean square above `large`, or below `small`. Many models cope (batch normalisation, Adam), so it is a note, unless
the loss has not come down either (`progress` of where it began, or of chance where that is lower), began at `loud`
times chance and took `long` of the run to come down to it, or began at `absurd` times where it was a tenth of the run
later: then it is a warning. So it is where large inputs go with held-out scores and losses of which none is better in
the last third of the run than at its first evaluation.

Of a table, the first few hundred examples are read column by column (not where the network begins with a BatchNorm): it
is far from zero where at least half of the columns that vary have a mean of `away` times their own spread, and uneven
where one is `uneven` times as wide as most. That is a note, and a warning where a linear model or a look-up of
neighbours, to which all columns were given with mean 0 and spread 1, is better than the network ever was: the network
won `share` at most of what they won over a blind guess, and is behind by `apart` of it. The same comparison shows
codes: a linear model with a weight for every code is as much better than the network, and than one with a weight for
every column.

## When it is wrong
Models that normalise inside, and inputs with a meaning in their size.

## What to try
1. `(x - mean) / std`, per channel or feature, with the numbers of the training set.
2. An `nn.Embedding` for every column of codes, or one-hot vectors.

## Example
>>> from bedside.testing import a_run
>>> print(*unnormalised_input.check(a_run(loss=[2.3 - 0.01 * i for i in range(100)], input_mean=33.0, input_std=78.0)))
DAT103 unnormalised-input: Inputs have mean 33 and spread 78, not 0 and 1.

## References
- LeCun et al. (1998), Efficient backprop: section 4.3, normalising the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import training_loss, validation_losses, validation_metrics
from bedside.analysis.progress import share_of_loss_won
from bedside.analysis.simple_models import LATE, Beside, behind, coded_columns, on_held_out, on_training
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.vocabulary import INPUT_MEAN, INPUT_STD
from bedside.rules.base import rule
from bedside.wording import count, listed, number, plural


@dataclass(frozen=True)
class Limits:
    large: float = 10.0  # ten units of a standardised feature; pixels of 0 to 255 come to about 130
    small: float = 1e-3  # of a standardised feature; below it the first layer's bias is all there is
    progress: float = 0.1  # of the first loss: a run that learns has won more than this by the time it is judged
    loud: float = 10.0  # times chance: healthy first losses, on raw inputs too, are within 4
    long: float = 0.1  # of the run spent above chance: that much the inputs cost
    steps: int = 20  # above chance, at least: a start can be loud and over soon
    absurd: float = 1e6  # times, where chance is not known: no first steps learn that much, outputs were that large
    evaluations: int = 6  # of each held-out curve: two in the last third
    away: float = 10.0  # spreads: a logarithm or a year may be that far, and is no better for it
    uneven: float = 100.0  # times the spread of most: that column is nearly all that the first layer hears
    share: float = 0.85  # of what a simple model wins: healthy programs win 0.9 of it or more
    apart: float = 0.1  # of a blind guess's error, as for underfitting
    worth: float = 0.3  # of it, as for underfitting: a model of codes that wins less has learned nothing either
    answers: int = 100  # of the network: a share is known to 0.05 then
    fewest: int = 50  # losses before a lack of progress is held against the inputs


@rule("DAT103", severity=Severity.NOTE, needs=[INPUT_MEAN, INPUT_STD], limits=Limits())
def unnormalised_input(run: Run, limits: Limits) -> Iterator[Finding]:
    mean, spread = run.series(INPUT_MEAN.name).median(), run.series(INPUT_STD.name).median()
    size = math.hypot(mean, spread)
    if (codes := _codes(run, limits)) is not None:
        yield codes
        return
    if not size > 0 or limits.small <= size <= limits.large:
        if size > 0 and (columns := _columns(run, limits)) is not None:
            yield columns
        return
    hurts = _harm(run, limits)
    series = run.series(INPUT_STD.name)
    yield unnormalised_input.finding(
        f"Inputs have mean {number(mean)} and spread {number(spread)}, not 0 and 1{hurts}.",
        severity=Severity.WARNING if hurts else None,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.6 if hurts else 0.8,
        evidence={"mean": mean, "spread": spread},
        series=[INPUT_MEAN.name, INPUT_STD.name],
        could_also_be=("A model that normalises its input itself: then this is harmless.",),
        try_=(f"Normalise the input: (x - {number(mean)}) / {number(spread)}, per channel or feature.",),
    )


def _columns(run: Run, limits: Limits) -> Finding | None:
    """Columns that are far from zero or uneven, where all of them together look well."""
    table = run.config.get("input_columns")
    if not isinstance(table, Mapping):
        return None
    away, uneven = float(table["away"]), float(table["widest"]) / float(table["spread"])
    if away >= limits.away:
        said = (
            f"Most of the {count(int(table['columns']))} input columns are far from zero in their own spread: "
            f"{number(table['mean'])} ± {number(table['spread'])}, as one in the middle is"
        )
    elif uneven >= limits.uneven:
        said = f"Most input columns have a spread of {number(table['spread'])}, and one of {number(table['widest'])}"
    else:
        return None
    beside = behind(run, limits.apart, limits.share)
    if beside is not None:
        said += f"; {_better(beside)}, with every column at mean 0 and spread 1"
    series = run.series(INPUT_STD.name)
    return unnormalised_input.finding(
        f"{said}.",
        severity=Severity.WARNING if beside is not None else None,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.8,
        evidence={name: float(table[name]) for name in ("away", "mean", "spread", "widest")},
        series=[INPUT_MEAN.name, INPUT_STD.name],
        could_also_be=("A model that normalises its input itself: then this is harmless.",),
        try_=("Normalise every column by itself: (x - x.mean(0)) / x.std(0), with the numbers of the training set.",),
    )


def _codes(run: Run, limits: Limits) -> Finding | None:
    """Columns of codes, where a linear model that knows them as such does better than the network."""
    columns, facts = coded_columns(run), run.config.get("simple_models")
    beside = on_training(run, LATE, only="codes") if columns else None
    if beside is None or not isinstance(facts, Mapping) or min(beside.answers, beside.examples) < limits.answers:
        return None
    if beside.worth < limits.worth or beside.share > limits.share or beside.apart < limits.apart:
        return None
    without, held_out = float(facts["numbers"]), on_held_out(run, carried=False)
    best = min(without, held_out.network if held_out is not None else math.inf)  # what is hard in training alone
    if best - beside.simple < limits.apart * beside.guess:
        return None
    series = run.series(INPUT_STD.name)
    return unnormalised_input.finding(
        f"{plural(len(columns), 'input column')} with {listed(str(each) for each in columns)} different whole numbers "
        f"seem to be codes, given as numbers: {_better(beside)}.",
        severity=Severity.WARNING,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.85,
        evidence={"network": beside.network, "codes": beside.simple, "numbers": without},
        series=[INPUT_MEAN.name, INPUT_STD.name],
        could_also_be=(
            "A network that finds nothing for another reason: whether it learns 32 examples by heart tells.",
        ),
        try_=("Give every code an nn.Embedding, or a one-hot vector, instead of its number.",),
    )


def _better(beside: Beside) -> str:
    return (
        f"{beside.name}, fitted to a few hundred examples, is {beside.words(beside.simple)} on others, and the network "
        f"{beside.words(beside.network)}"
    )


def _harm(run: Run, limits: Limits) -> str:
    """What the inputs did to the loss, fit to end a sentence; empty if nothing can be held against them."""
    losses = training_loss(run)
    finite = losses.finite()
    if len(losses) >= limits.fewest:
        if len(finite) < limits.fewest or share_of_loss_won(run) < limits.progress:
            return ", and the loss has hardly come down"
        large = math.hypot(run.series(INPUT_MEAN.name).median(), run.series(INPUT_STD.name).median()) > limits.large
        if large and (held_out := _none_better(run, limits)):
            return f", and {held_out} is no better than at its first evaluation"
    if len(finite) < limits.steps:
        return ""
    chance = known_chance(run.config)
    first, after = float(finite.values[0]), float(np.median(finite.values[: max(10, len(finite) // 10)][-5:]))
    if chance is None and first > limits.absurd * after > 0:
        return f", and the loss began at {number(first)}, where it soon was at {number(after)}"
    if chance is None or not finite.values[0] > limits.loud * chance.level > 0:
        return ""
    above = int((finite.values > chance.level).sum())
    if above < max(limits.steps, limits.long * len(finite)):
        return ""
    return f", and the loss began at {number(first)} and was above that of a guess for {above} steps"


def _none_better(run: Run, limits: Limits) -> str:
    """A held-out curve, where none of them ended better than it began; empty if one did or there is none."""
    curves = [each.finite() for each in (*validation_losses(run), *validation_metrics(run))]
    if not curves or any(len(each) < limits.evaluations for each in curves):
        return ""
    for each in curves:
        late = each.values[-(len(each) // 3) :]
        sign = 1.0 if goes_up(each.vital) else -1.0
        if sign * float(np.median(late)) > sign * float(each.values[0]):
            return ""
    return curves[0].key
