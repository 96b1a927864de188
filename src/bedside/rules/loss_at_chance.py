"""The loss sits at the level of a blind guess.

## What it sees
A loss that settled on the value that a model reaches by ignoring its input: ln K for K classes, the entropy of the
labels, the variance of the targets.

## Why it matters
The network has learned, at best, how often each answer occurs. Labels are detached from inputs, the inputs carry
nothing (all zero, wrongly normalised), the output is saturated, or the learning rate destroyed the initialisation in
its first steps.

## How it decides
Over the last third the loss is within two percent of the chance level computed from the run's configuration, and it was
never lower by `lower` of it. When the number of classes is not known, familiar values (ln 2, ln 10, ln 1000, the
vocabularies of public tokenizers) are recognised, but only at the third digit, only if the loss was never far from
there (`start`), and it is a note unless the accuracy is that of guessing too.

## When it is wrong
A loss that happens to settle on such a number; the finding says which number it took it for.

## What to try
1. Train on 32 examples: if the loss does not go to zero, there is a bug between data and loss.
2. Print a few inputs with their labels as the network gets them.
3. Start again with a tenth of the learning rate.

## Example
>>> from bedside.testing import a_run
>>> loss = [3.1, 2.6, 2.4] + [2.30, 2.31, 2.302, 2.305, 2.298, 2.304] * 20
>>> print(*loss_at_chance.check(a_run(loss=loss, config={"num_classes": 10})))
LOS102 loss-at-chance: The loss has settled at 2.3, the level of a blind guess (ln 10 = 2.303).

## References
- Karpathy (2019), A recipe for training neural networks: verify the loss at initialisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.finding import Finding, NotEnough, Severity
from bedside.record.run import Run
from bedside.report.wording import number
from bedside.rules.advice import lower_learning_rate
from bedside.rules.chance import chance_level
from bedside.rules.ignorance import low_metric
from bedside.rules.losses import called, loss_to_fall
from bedside.rules.rule import rule
from bedside.rules.schedule import warming_up
from bedside.rules.statistics import in_blocks


@dataclass(frozen=True)
class Limits:
    fewest: int = 20  # readings, as for any verdict
    steps: int = 100  # a few dozen steps may be a warm-up; see stuck-from-start
    lower: float = 0.05  # of the level: a model that was ever this much better has learned something
    start: float = 0.5  # of the level above it, for a recognised one: untrained heads begin a little above ln K
    steady: float = 0.02  # of the level: the spread of the last third


@rule("LOS102", severity=Severity.WARNING, needs=[], limits=Limits())
def loss_at_chance(run: Run, limits: Limits) -> Iterator[Finding]:
    series = loss_to_fall(run, limits.fewest)
    if run.axis == "step" and series.last_step - series.first_step + 1 < limits.steps:
        raise NotEnough(f"{limits.steps} steps of {series.key}")
    if warming_up(run):
        raise NotEnough("steps after the warm-up of the learning rate")
    blocks = in_blocks(series, size=-(-len(series) // limits.fewest))
    third = blocks.means[-max(2, len(blocks) // 3) :]
    now = float(np.median(third))
    chance = chance_level(run.config, now)
    if chance is None or float(np.ptp(third)) > limits.steady * chance.level:
        return
    if float(blocks.means.min()) < (1 - limits.lower) * chance.level:
        return
    guessing = low_metric(run)
    recognised_near = float(series.values[0]) < (1 + limits.start) * chance.level
    if not chance.known and not recognised_near:
        return
    sign = f", {guessing}" if guessing else ""
    settled = int(np.argmax(np.abs(blocks.means - now) <= limits.steady * chance.level))
    yield loss_at_chance.finding(
        f"The {called(series)} has settled at {number(now)}, the level of a blind guess ({chance}){sign}.",
        severity=None if chance.known or guessing else Severity.NOTE,
        first_step=int(blocks.first_steps[settled]),
        last_step=series.last_step,
        confidence=0.95 if chance.known else 0.8 if guessing else 0.5,
        evidence={"now": now, "chance": chance.level, "known": chance.known},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "labels that do not belong to their inputs: train on 32 examples, which any network can learn by heart.",
            "first steps so large that they saturated the network: start again with a tenth of the learning rate.",
        ],
        try_=[
            "Train on 32 examples until the loss is near zero; if it does not get there, look at data and loss.",
            "Print a few inputs with their labels, as the network gets them.",
            lower_learning_rate(run, series.first_step),
        ],
    )
