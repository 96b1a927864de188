"""Some categories of samples have a far higher loss than the others.

## What it sees
The mean loss per category, as `monitor.categories(…)` gives it; the validation's where there is one.

## Why it matters
The mean over everything hides it: a category may be mislabelled, too rare to be learnt, or beyond what the model is
given to see. It is the cheapest place to look for better data.

## How it decides
The median of a category's last `last` reports is more than `ratio` times the median over all categories, and more than
`far` of their usual deviations (of the logarithm) above it: some categories are always harder than others. Two or three
categories have no usual deviation: there the worst must be `among_few` times the best, all their reports apart, and not
be on its way down to it. Where every
category is more than `summed` times the training loss, the losses are sums over samples of some length, and their gaps
say nothing: a note.

## When it is wrong
A category that is harder by its nature; one with so few samples that its mean is chance.

## What to try
1. Look at twenty samples of that category: are the labels right, is the input there?
2. Weigh it up, or sample it more often, if it is rare.

## Example
>>> from bedside.testing import a_run
>>> usual = {f"genre {i}": 0.4 + 0.01 * i for i in range(8)}
>>> print(*category_gap.check(a_run(loss=0.5, loss_by_category={**usual, "polka": 2.2})))
GEN111 category-gap: The loss of `polka` is 2.2, 5 times the usual 0.44 of the categories.

## References
- Sagawa et al. (2020), Distributionally robust neural networks for group shifts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics import how_sure, mad
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LOSS, LOSS_BY_CATEGORY
from bedside.rules.base import rule
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    ratio: float = 3.0  # times the usual category: twice is common between easy and hard classes
    far: float = 6.0  # usual deviations between categories: never by chance, even among thousands
    last: int = 3  # reports that make "now": one may rest on a handful of samples
    fewest: int = 4  # categories: among fewer there is no usual one
    summed: float = 4.0  # times the training loss, of every category: lengths of a handful already make more
    among_few: float = 5.0  # times the best of two or three: classes of one task are within that


@rule("GEN111", severity=Severity.WARNING, needs=[], limits=Limits())
def category_gap(run: Run, limits: Limits) -> Iterator[Finding]:
    every = run.of(f"val/{LOSS_BY_CATEGORY.name}") or run.of(LOSS_BY_CATEGORY.name)
    if not every:
        raise NotEnough(f"{LOSS_BY_CATEGORY.name} per category (monitor.categories)")
    categories = [series for series in every if len(series.finite()) >= limits.last]
    if len(categories) < 2:
        raise NotEnough(f"{limits.last} reports of 2 categories, has {len(categories)}")
    if summed := list(_not_normalised(run, categories, limits)):
        yield from summed
        return
    if len(categories) < limits.fewest:
        yield from _among_few(run, categories, limits)
        return
    now = {series.owner: series.median(limits.last) for series in categories}
    positive = {owner: loss for owner, loss in now.items() if loss > 0}
    if len(positive) < limits.fewest:
        return
    logs = np.log(list(positive.values()))  # losses differ in proportion, so deviations are judged as ratios
    usual = float(np.exp(np.median(logs)))
    limit = max(limits.ratio, float(np.exp(limits.far * mad(logs))))
    hard = sorted((o for o in positive if positive[o] > limit * usual), key=lambda owner: -positive[owner])
    if not hard:
        return
    worst: Series = next(series for series in categories if series.owner == hard[0])
    others = f"; {len(hard) - 1} more like it ({listed(f'`{o}`' for o in hard[1:])})" if len(hard) > 1 else ""
    times = now[hard[0]] / usual
    yield category_gap.finding(
        f"The loss of `{hard[0]}` is {number(now[hard[0]])}, {number(times)} times the usual {number(usual)} of the "
        f"categories{others}.",
        first_step=worst.first_step,
        last_step=worst.last_step,
        confidence=how_sure(times, limits.ratio, most=0.9),
        where=hard,
        evidence={"usual": usual, "categories": len(now), "loss": {owner: now[owner] for owner in hard[:20]}},
        series=[worst.key],
        could_also_be=(
            "Losses that were summed over samples of different length: give monitor.categories(…, lengths=…).",
            "A category that is harder by its nature, or has very few samples.",
        ),
        try_=(
            f"Look at twenty samples of `{hard[0]}`: are the labels right, is the input there?",
            "Weigh the category up in the loss, or sample it more often.",
        ),
    )


def _not_normalised(run: Run, categories: list[Series], limits: Limits) -> Iterator[Finding]:
    """Losses that are all far above the one they should add up to were summed over each sample's length."""
    own = [series for series in categories if series.vital == LOSS_BY_CATEGORY.name]
    training = run.loss.finite()
    if not own or len(own) < len(categories) or not training:
        return
    since = min(int(series.steps[-limits.last]) for series in own)
    usual = training.since(since).median()
    least = min(own, key=lambda series: series.median(limits.last))
    times = least.median(limits.last) / usual if usual > 0 else 0.0
    if times <= limits.summed:
        return
    yield category_gap.finding(
        f"Losses by category are not those of the training: even `{least.owner}` has "
        f"{number(least.median(limits.last))}, {number(times)} times the training loss of {number(usual)}.",
        severity=Severity.NOTE,
        first_step=least.first_step,
        last_step=least.last_step,
        confidence=how_sure(times, limits.summed, most=0.9),
        evidence={"training_loss": usual, "least": least.median(limits.last)},
        series=[least.key, LOSS.name],
        could_also_be=("A training loss that is divided once more, by the number of micro-batches for instance.",),
        try_=(
            "Give the length of each sample, where losses are sums over it: monitor.categories(losses, labels, "
            "lengths=…).",
        ),
    )


def _among_few(run: Run, categories: list[Series], limits: Limits) -> Iterator[Finding]:
    """The worst of two or three categories, when it is far from the best and stays there."""
    ordered = sorted(categories, key=lambda series: series.finite().median(limits.last))
    best, worst = ordered[0].finite(), ordered[-1].finite()
    low, high = best.median(limits.last), worst.median(limits.last)
    apart = float(worst.values[-limits.last :].min()) > float(best.values[-limits.last :].max())
    coming_down = high < 0.5 * float(worst.values[0])  # on its way, later than the other
    if not (low > 0 and high > limits.among_few * low and apart) or coming_down:
        return
    yield category_gap.finding(
        f"The loss of `{worst.owner}` is {number(high)}, {number(high / low)} times the {number(low)} of "
        f"`{best.owner}`.",
        first_step=worst.first_step,
        last_step=worst.last_step,
        confidence=how_sure(high / low, limits.among_few, most=0.8),
        where=[worst.owner],
        evidence={"best": low, "worst": high, "categories": len(categories)},
        series=[worst.key, best.key],
        could_also_be=(
            "Losses that were summed over samples of different length: give monitor.categories(…, lengths=…).",
            "A category that is harder by its nature, or has very few samples.",
        ),
        try_=(
            f"Look at twenty samples of `{worst.owner}`: are the labels right, is the input there?",
            "Weigh the category up in the loss, or sample it more often.",
        ),
    )
