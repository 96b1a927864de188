"""Steps so small that the weights cannot get anywhere in the length of the run.

## What it sees
Steps that are a minute part of the weights, at the learning rate the run was meant to have, and a loss that stands
where it began.

## Why it matters
The gradients are fine and so is the model; the steps are too short to follow them. It looks like a plateau, and every
hour of it is lost.

## How it decides
‖update‖ / ‖weights‖ is below `small`, by the median over the steps whose learning rate is at least `main` of its peak
(warm-up and the end of a schedule are meant to be small; while it warms up it is too early to say), no module moves at
a `healthy` pace (a dead layer makes some of them slow, never all), and the loss has improved by less than `improved`.
The shorter the steps, the sooner that is clear: those below a tenth of `small` are reported after `clear` steps, those
just below `small` after `patience`, and never on fewer than `clear` readings. A run that has ended at the loss of a
blind guess, which is known, took too small steps below `at_a_guess`, too, as long as no module moved by `target`. So
did one that ended, over `many` classes, above the entropy of the labels, however far it came: it knows at most how
frequent each of them is.

Steps of any size were too small for their number when a run has ended after a way of less than `way` (all steps
together, in weights), with a loss still above `unsolved` of a blind guess, and the last third of the way won at least
`even` of what the same length of it won on the whole. Learning slows down on its way; where it did not, nothing but the
length of the way ended it. If that took fewer than `few` steps, they may have been too few and not too small, and
nothing is said.

## When it is wrong
Fine-tuning at learning rates of 1e-6 on purpose, where the loss is near its floor already. It misses runs in which some
large module started at zero: any step is large against that one.

## What to try
1. The learning rate at which a step is a thousandth of the weights.
2. If that number looks absurd, the gradient is too small, not the learning rate: look at the loss's scale.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.31] * 200, lr=1e-7, relative_update_norm={"": 1e-6, "body": 1e-6, "head": 1e-6})
>>> print(*undersized_update.check(run))
UPD102 undersized-update: A step changes the weights by 1e-6 of their norm, 2e-4 in all 200 steps: the loss stays at \
2.31.

## References
- Karpathy (2019), A recipe for training neural networks: update to weight ratios of about 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import chance_level, known_chance
from bedside.analysis.leaf_modules import leaves
from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.optimizers import is_scale_free
from bedside.analysis.schedule import warming_up
from bedside.analysis.statistics import how_sure
from bedside.analysis.way import way
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LOSS, LR, PARAM_NORM, RELATIVE_UPDATE
from bedside.rules.advice import LEARNING_RATE, learning_rate, new_learning_rate, scale_the_loss
from bedside.rules.base import rule
from bedside.wording import number, percent, steps

WHOLE_WAY = 1.5  # weights: what networks that learn from scratch in a few hundred steps usually go (measured)


@dataclass(frozen=True)
class Limits:
    small: float = 3e-5  # of the weights: 1e-3 to 1e-4 is healthy, and three times less can be patience
    target: float = 1e-3  # of the weights: what most healthy runs do
    improved: float = 0.05  # of the first loss: less is a plateau
    main: float = 0.1  # of the peak learning rate: below it a schedule is beginning or ending
    at_a_guess: float = 2e-4  # of the weights: too small for a whole run that ends at a blind guess, however patient
    many: int = 20  # classes: of fewer, weights per class may put a good loss above the entropy of the labels
    most: int = 1000  # classes: of more, a run sees too few labels to know how frequent each of them is
    part: float = 0.01  # of the norm of all weights: a module below it is next to nothing
    patience: int = 50  # steps in that main part; fewer cannot get far at any learning rate
    clear: int = 20  # steps, and readings as for any verdict, with which 10,000 would not get far either
    healthy: float = 1e-4  # of the weights: one module at this pace shows that the learning rate is not to blame
    way: float = 0.3  # weights: healthy runs from scratch that end with a loss this high go 0.5 and more (measured)
    unsolved: float = 0.5  # of a blind guess: who is below may have been fine-tuned, and be near the end
    even: float = 0.4  # of the pace of the whole: curves that have bent win a tenth, and noise takes off a tenth
    few: int = 100  # steps: at a healthy hundredth of the weights each, so many go far enough


@rule("UPD102", severity=Severity.ERROR, needs=[RELATIVE_UPDATE, LOSS], limits=Limits())
def undersized_update(run: Run, limits: Limits) -> Iterator[Finding]:
    try:
        found = _next_to_no_steps(run, limits) or _ran_out_of_way(run, limits)
    except NotEnough:
        if (found := _ran_out_of_way(run, limits)) is None:
            raise
    if found is not None:
        yield found


def _next_to_no_steps(run: Run, limits: Limits) -> Finding | None:
    """Steps that are next to nothing beside the weights, under a loss that stays where it is."""
    ratios = _main_part(run, run.series(RELATIVE_UPDATE.name).finite(), limits)
    usual = spread_evenly(ratios).median()
    over = _over_at_a_guess(run, limits)
    small, healthy = (limits.at_a_guess, limits.target) if over else (limits.small, limits.healthy)
    fewest = limits.clear if over else _needed(usual, limits)
    if len(ratios) < limits.clear or ratios.last_step - ratios.first_step + 1 < fewest:
        raise NotEnough(f"{limits.clear} readings of relative_update_norm over {fewest} steps, has {len(ratios)}")
    if warming_up(run):
        raise NotEnough("steps after the warm-up of the learning rate")
    if not 0 < usual < small:
        return None
    modules = [
        m
        for series in leaves(run, RELATIVE_UPDATE)
        if not _next_to_nothing(run, series.owner, limits)
        and (m := spread_evenly(_main_part(run, series, limits)).median()) > 0
    ]
    if modules and max(modules) > healthy:
        return None
    loss = training_loss_to_fall(run, fewest=10)
    start, end = float(np.median(loss.values[:5])), loss.median(max(5, len(loss) // 10))
    ignorant = over and _knows_frequencies_only(run, end, limits)
    if start - end > limits.improved * abs(start) and not ignorant:
        return None
    entropy = f", and how frequent each class is tells {number(run.config['label_entropy'])}" if ignorant else ""
    old = learning_rate(run, ratios.first_step, ratios.last_step)
    new = old * limits.target / usual
    travelled = usual * run.steps
    return undersized_update.finding(
        f"A step changes the weights by {number(usual, 1)} of their norm, {number(travelled, 1)} in all "
        f"{steps(run.steps, run.axis)}: the loss {'comes down' if entropy else 'stays'} "
        f"{'only to' if entropy else 'at'} {number(end)}{entropy}.",
        first_step=ratios.first_step,
        last_step=ratios.last_step,
        confidence=0.95 if usual < limits.small / 10 else 0.8,
        evidence={"relative_update": usual, "travelled": travelled, "learning_rate": old, "loss": [start, end]},
        series=[RELATIVE_UPDATE.name, LOSS.name, LR.name],
        could_also_be=(
            "A loss at its floor already: evaluate the untrained checkpoint on the task itself.",
            _scaled_down(run),
        ),
        try_=(
            scale_the_loss(run),
            new_learning_rate(old, new) if new > 0 else Advice("Raise the learning rate 100-fold.", LEARNING_RATE, 1),
            "Run a learning-rate range test from the present value upwards, and take the steepest fall of the loss.",
        ),
    )


def _ran_out_of_way(run: Run, limits: Limits) -> Finding | None:
    """A run that has ended while its loss fell evenly along a way that was too short to get anywhere."""
    chance = known_chance(run.config)
    if not run.finished or run.steps < limits.few or chance is None or warming_up(run):
        return None
    loss = training_loss_to_fall(run, fewest=10)
    found = way(run, loss)
    if found is None or found.length > limits.way or found.evenness < limits.even:
        return None
    end = loss.median(max(5, len(loss) // 10))
    if end < limits.unsolved * chance.level:
        return None
    rates, by = run.series(LR.name).finite(), WHOLE_WAY / found.length
    old = float(rates.values.max()) if rates else math.nan
    return undersized_update.finding(
        f"All {steps(run.steps, run.axis)} together moved the weights by {number(found.length, 1)} of their norm, and "
        f"the loss fell evenly along that way, from {number(found.first)} to {number(found.last)}: the run ended far "
        f"from where it was going ({percent(end / chance.level)} of a blind guess, {chance.what}).",
        first_step=loss.first_step,
        last_step=loss.last_step,
        confidence=how_sure(limits.way / found.length, 0.5),
        evidence={"travelled": found.length, "evenness": found.evenness, "learning_rate": old, "loss": end},
        series=[LOSS.name, RELATIVE_UPDATE.name, LR.name],
        could_also_be=(
            f"Too few steps: {number(by, 1)} times as many would go as far.",
            _scaled_down(run),
        ),
        try_=(
            new_learning_rate(old, old * by)
            if old > 0
            else Advice("Raise the learning rate tenfold.", LEARNING_RATE, 1),
            scale_the_loss(run),
            "Run a learning-rate range test from the present value upwards, and take the steepest fall of the loss.",
        ),
    )


def _over_at_a_guess(run: Run, limits: Limits) -> bool:
    """A run that has ended, with a loss that is known to be that of a blind guess, or has hardly left it."""
    loss, chance = run.loss.finite(), known_chance(run.config)
    if not (run.finished and loss and chance):
        return False
    end = loss.tail(max(10, len(loss) // 10)).median()
    close = (1 - limits.improved) * chance.level <= end <= chance.level
    return close or bool(chance_level(run.config, end)) or _knows_frequencies_only(run, end, limits)


def _knows_frequencies_only(run: Run, end: float, limits: Limits) -> bool:
    """Whether a loss over many classes is still above what it takes to know how frequent each of them is."""
    classes, entropy = run.config.get("classes"), run.config.get("label_entropy")
    if not isinstance(classes, int) or not isinstance(entropy, float):
        return False
    return limits.many <= classes <= limits.most and end >= (1 - limits.improved) * entropy


def _next_to_nothing(run: Run, owner: str, limits: Limits) -> bool:
    """Whether the weights of a module are so few or small (a bias that began at zero) that any step is large beside
    them."""
    own, all_ = run.series(PARAM_NORM.name, owner).finite(), run.series(PARAM_NORM.name).finite()
    return bool(own and all_) and own.median() < limits.part * all_.median()


def _needed(usual: float, limits: Limits) -> int:
    """From `patience` at `small` down to `clear` at a tenth of it, in proportion on a logarithmic scale."""
    if not 0 < usual < limits.small:
        return limits.patience
    decades = min(1.0, math.log10(limits.small / usual))
    return math.ceil(limits.patience * math.pow(limits.clear / limits.patience, decades))


def _main_part(run: Run, series: Series, limits: Limits) -> Series:
    """The readings at a learning rate that is not just beginning or ending."""
    rates = run.series(LR.name).finite()
    if not rates or not rates.values.max() > 0:
        return series
    lr = np.interp(series.steps, rates.steps, rates.values)
    keep = lr >= limits.main * rates.values.max()
    return Series(series.vital, series.owner, series.steps[keep], series.values[keep])


def _scaled_down(run: Run) -> str:
    """With plain SGD a loss scaled down by accident shows in the gradient norm, which is said where it is known."""
    norms = run.series("grad_norm").finite()
    if is_scale_free(run):
        return ""
    seen = f": the gradient norm is {number(norms.median(), 2)}" if norms else ""
    return f"A loss scaled down by accident (divided twice by the micro-batches, say){seen}."
