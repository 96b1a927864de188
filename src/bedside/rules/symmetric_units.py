"""All units of a layer compute the same: the layer is one unit wide.

## What it sees
Outputs that do not differ between the units of a layer, sample by sample.

## Why it matters
Units that start alike get the same gradient and stay alike for ever, so a layer of a thousand of them can do what one
can. Typical: weights initialised with zeros or any other constant.

## How it decides
From the first steps to the last, the variation between units is below `alike` of the output's size, in a layer whose
output does vary from sample to sample (`varies`): one that puts out a constant is found by collapsed-activations.
Random biases make units with equal weights differ a little: below `nearly` at the median of `many` readings, inside the
network, it is a warning while the loss has won less than `progress`, unless the units began as far apart as `random`
ones do (the spreads that a variational encoder gives are alike by right). Units that are `begun` alike, and nearly so
at every reading since, were made so; then it takes no more readings than any other verdict. And where the weights were
looked at before the first step it takes none: in `layers` layers or more, each begins with one number for all of its
weights, or all weights of the model begin at zero, or those of all its linear and convolutional layers.

## When it is wrong
A layer that is meant to repeat one value; weights that are tied.

## What to try
1. Leave the weights to PyTorch's own initialisation, or use `nn.init.kaiming_normal_(layer.weight)`; zeros are for
   biases.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=2.0, unit_variation={"hidden": 1e-6, "out": 0.4}, batch_variation={"hidden": 0.7, "out": 0.7})
>>> print(*symmetric_units.check(run))
ACT106 symmetric-units: All units of `hidden` put out the same value: the layer does what one unit could.

## References
- Goodfellow et al. (2016), Deep learning: section 8.4, breaking symmetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.initial_weights import began_at_zero
from bedside.analysis.leaf_modules import leaf_owners
from bedside.analysis.progress import share_of_loss_won
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import BATCH_VARIATION, LOSS, UNIT_VARIATION
from bedside.rules.base import rule
from bedside.wording import listed

CENTRED = ("softmax", "sigmoid", "hardsigmoid")  # their outputs begin alike: everywhere 1/n, or one half


@dataclass(frozen=True)
class Limits:
    alike: float = 1e-3  # rounding makes units that are alike differ by less; the closest healthy layer had 0.12
    nearly: float = 0.1  # random weights begin at 0.5 to 1, and no healthy layer of the zoo was below 0.4 later on
    progress: float = 0.5  # of the first loss: a run that wins more has units enough
    varies: float = 0.01  # between samples: ordinary layers have 0.1 and more
    fewest: int = 10  # readings
    many: int = 50  # readings, where units are only nearly alike: the first steps may pass such a stretch
    layers: int = 2  # in one alone, the random weights of its neighbours make the units differ at once
    random: float = 0.4  # at the first reading: random weights begin at 0.5 to 1
    begun: float = 0.05  # at the first reading: half of `nearly`, where random weights begin at ten times that


@rule("ACT106", severity=Severity.ERROR, needs=[UNIT_VARIATION.per_owner], limits=Limits())
def symmetric_units(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = [s for s in run.of(UNIT_VARIATION.name) if len(s.finite()) >= limits.fewest]
    kinds = {owner: kind for event in run.events_of("nonlinearities") for owner, kind in event.data.items()}
    alike = [
        s.owner
        for s in layers
        if s.finite().values.max() < limits.alike
        and run.series(BATCH_VARIATION.name, s.owner).median() > limits.varies
        and kinds.get(s.owner) != "softmax"  # looking everywhere alike is another matter
    ]
    nearly = not alike and share_of_loss_won(run) < limits.progress
    if nearly:
        alike = [
            s.owner
            for s in layers[:-1]  # answers may well be alike
            if s.median() < limits.nearly < run.series(BATCH_VARIATION.name, s.owner).median()
            and not _began_apart(run, s, limits)
            and (len(s.finite()) >= limits.many or _made_so(s, limits))
            and kinds.get(s.owner) not in CENTRED
        ]
    if not alike:
        yield from _equal_weights(run, limits)
        return
    first = run.series(UNIT_VARIATION.name, alike[0])
    value = "nearly the same value" if nearly else "the same value"
    yield symmetric_units.finding(
        f"All units of {listed(f'`{owner}`' for owner in alike)} put out {value}: the layer does what one unit could.",
        severity=Severity.WARNING if nearly else None,
        first_step=first.first_step,
        last_step=first.last_step,
        confidence=0.75 if nearly else 0.95,
        where=alike,
        evidence={"variation_between_units": first.median()},
        series=[first.key, LOSS.name],
        could_also_be=("A layer that repeats one value on purpose.",),
        try_=("Initialise the weights at random: nn.init.kaiming_normal_(layer.weight); constants are for biases.",),
    )


def _equal_weights(run: Run, limits: Limits) -> Iterator[Finding]:
    """Weights that were all one number before the first step."""
    if began_at_zero(run) and len(leaf_owners([each.owner for each in run.parameters])) >= limits.layers:
        yield _zeros(run, "All weights", limits)
        return
    for event in run.events_of("constant_weights")[:1]:
        layers = dict(event.data["layers"])
        if len(layers) < limits.layers:
            return
        if event.data.get("all_zero"):
            yield _zeros(run, f"The weights of {listed(f'`{owner}`' for owner in layers)}", limits)
            return
        yield symmetric_units.finding(
            f"All weights of {listed(f'`{owner}`' for owner in layers)} began as one number: their units start alike, "
            "and only their biases ever tell them apart.",
            severity=Severity.WARNING if share_of_loss_won(run) < limits.progress else Severity.NOTE,
            first_step=0,
            last_step=max(run.steps - 1, 0),
            confidence=0.85,
            where=list(layers),
            evidence={"weights": layers},
            series=[LOSS.name],
            could_also_be=("Layers that begin as a mean of their inputs on purpose.",),
            try_=(
                "Initialise the weights at random: nn.init.kaiming_normal_(layer.weight); constants are for biases.",
            ),
        )


def _zeros(run: Run, what: str, limits: Limits) -> Finding:
    """Every layer began at zero."""
    return symmetric_units.finding(
        f"{what} began at zero: units that start alike get the same gradient, or none, and stay alike.",
        severity=Severity.ERROR if share_of_loss_won(run) < limits.progress else Severity.NOTE,
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.95,
        evidence={"initial_param_norm": run.config.get("initial_param_norm")},
        series=[LOSS.name],
        try_=(
            "Leave the weights to PyTorch's initialisation, or nn.init.kaiming_normal_(layer.weight); zeros are "
            "for biases.",
        ),
    )


def _began_apart(run: Run, series: Series, limits: Limits) -> bool:
    """Random weights made the units differ, each in its answer to every sample; where weights are zero, biases do."""
    samples = run.series(BATCH_VARIATION.name, series.owner).finite()
    return bool(series.finite().values[0] > limits.random and samples and samples.values[0] > limits.varies)


def _made_so(series: Series, limits: Limits) -> bool:
    """Alike at the first reading, and nearly so ever since: no stretch that training passes through."""
    values = series.finite().values
    return float(values[0]) < limits.begun and float(values.max()) < limits.nearly
