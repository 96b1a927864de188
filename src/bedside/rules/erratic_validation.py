"""The validation loss jumps about while the training loss falls smoothly.

## What it sees
Evaluations that contradict each other: the validation loss changes by large factors from one to the next, or returns
to where it began again and again, and nothing of the kind shows in the training loss.

## Why it matters
Which checkpoint is good has become a matter of luck. The network in evaluation mode is not the one that is trained:
batch-normalisation statistics that lag behind large steps, training in evaluation mode after the first validation, or
a validation set of a few samples.

## How it decides
Two ways. Throughout: the noise of its logarithm is at least `wild`, or that and `error` standard errors over the last
half of many evaluations, `louder` times that of the training loss there, and it rose by `restless` at least `times`
times. In episodes: after having fallen by `deep` of its first value it went back there at least `times` times, with at
least `back` of what it had won in between, and `dense` of the evaluations from the first return to the last are such;
the noise of its logarithm there is at least `restless`; and its noise over that episode, in units of its progress, is
`far_louder` times that of the training loss since the first evaluation. So a small validation set of a noisy problem
does not count.

## When it is wrong
Early epochs of batch-normalised networks at a large learning rate, if they are all there is yet.

## What to try
1. Evaluate one checkpoint in training and in evaluation mode: if they disagree, it is the batch-norm statistics; lower
   their momentum from 0.1 to 0.01, or lower the learning rate.
2. Assert `model.training` at the start of each epoch.
3. Evaluate the same checkpoint on a second validation set of the same size.

## Example
>>> from bedside.testing import a_run
>>> train = [2.0 * 0.98**k for k in range(200)]
>>> print(*erratic_validation.check(a_run(loss=train, val_loss=[2.1, 1.4, 5.0, 0.9, 7.0, 0.8, 3.0] * 4)))
GEN108 erratic-validation: val/loss changes by a factor of 7.7 between evaluations, the training loss does not.

## References
- Ioffe and Szegedy (2015), Batch normalization.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.statistics import how_sure, noise_level, outline, swings
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 12  # evaluations: swings of fewer are early training
    wild: float = 0.4  # σ of the logarithm: neighbours differ by a factor of 1.6 on average
    error: float = 1.0  # standard errors of such a σ, 1/√n of it: half of the evaluations know it less well than all
    restless: float = 0.2  # σ of the logarithm in an episode, half of `wild`: a few hundred examples make half of that
    deep: float = 0.2  # of the first value: less is a flat curve, which crosses its first value by chance
    back: float = 0.25  # of what had been won: enough that two returns are two
    times: int = 3  # returns to the start: once is a bad evaluation, twice bad luck
    dense: float = 1 / 6  # of the evaluations of the episode: bad ones that lie further apart are single accidents
    early: float = 0.1  # of the evaluations: a network that has hardly begun may be anywhere
    louder: float = 2.0  # than the training loss, whose readings are single batches and should be the noisier ones
    far_louder: float = 4.0  # the same, where the swings themselves are no wilder than those of many good runs


@rule("GEN108", severity=Severity.WARNING, needs=[], limits=Limits())
def erratic_validation(run: Run, limits: Limits) -> Iterator[Finding]:
    training, losses = training_loss(run).finite(), validation_losses(run)
    if not training or not losses:
        raise NotEnough("loss" if losses else "val/loss")
    judged = [series.finite() for series in losses if len(series.finite()) >= limits.fewest]
    if not judged:
        raise NotEnough(f"{limits.fewest} evaluations, has {max(len(series.finite()) for series in losses)}")
    for series in judged:
        noise, returns = _wild(series, training, limits), _returns(series, training, limits)
        if noise:
            first, last = int(series.steps[int(limits.early * len(series))]), series.last_step
            factor = math.exp(noise * 2 / math.sqrt(math.pi))  # the mean difference of neighbours is 2σ/√π
            message = (
                f"{series.key} changes by a factor of {number(factor, 2)} between evaluations, the "
                "training loss does not."
            )
        elif returns:
            first, last = int(series.steps[returns[0]]), int(series.steps[returns[-1]])
            message = (
                f"{series.key} went back to its first value ({number(series.values[0])}) {len(returns)} times since "
                f"{moment(run, first)}; the training loss did not."
            )
        else:
            continue
        yield _finding(run, series, message, first, last, noise, len(returns), limits)
        return


def _finding(
    run: Run, series: Series, message: str, first: int, last: int, noise: float, returns: int, limits: Limits
) -> Finding:
    return erratic_validation.finding(
        message,
        first_step=first,
        last_step=last,
        confidence=max(how_sure(noise, limits.wild / 1.2), how_sure(returns, limits.times / 1.2)),
        evidence={"noise_of_logarithm": noise, "returns_to_start": returns, "evaluations": len(series)},
        series=[series.key, "loss", "lr"],
        could_also_be=[
            "batch-norm statistics that lag behind large steps: evaluate one checkpoint in training and in evaluation "
            "mode.",
            "a validation set of a few samples: evaluate the same checkpoint twice, on two halves of the set.",
        ],
        try_=[
            lower_learning_rate(run, first, by=3),
            "Lower the momentum of the batch-norm statistics from 0.1 to 0.01.",
            "Assert model.training at the start of each epoch, and not model.training in each evaluation.",
        ],
    )


def _wild(series: Series, training: Series, limits: Limits) -> float:
    """The noise of the logarithm, if it is wild and the training loss is not; else 0."""
    if float(series.values.min()) <= 0 or float(training.values.min()) <= 0:
        return 0.0
    parts = [(series, training, 0.0)]
    if len(series) >= 2 * limits.fewest:  # few examples cost alike until most of them are known
        late = series.tail(len(series) // 2)
        parts.append((late, training.since(late.first_step), limits.error))
    for part, beside, errors in parts:
        noise, theirs = noise_level(np.log(part.values)), noise_level(np.log(beside.values))
        rises = int((np.diff(np.log(part.values)) > limits.restless).sum())
        if rises < limits.times:
            continue  # a fall by leaps is no noise
        if noise >= limits.wild * (1 + errors / math.sqrt(len(part))) and noise > limits.louder * theirs:
            return noise
    return 0.0


def _returns(series: Series, training: Series, limits: Limits) -> list[int]:
    """Evaluations that were as bad as the first, each after part of what had been won was there again."""
    values = series.values
    first, best = float(values[0]), np.minimum.accumulate(values)
    won = first - best
    found = swings(values, low=first - limits.back * won, high=first)
    found = [i for i in found if i >= limits.early * len(values) and won[i] > limits.deep * abs(first)]
    found = _episode(found, limits)
    curve = outline(training.since(series.first_step))  # what it won before the first evaluation is no measure
    if len(found) < limits.times or curve.progress <= 0:
        return []
    episode = values[max(0, found[0] - 2) : found[-1] + 3]
    least = limits.restless * (1 + limits.error / math.sqrt(len(episode)))
    if float(episode.min()) > 0 and noise_level(np.log(episode)) < least:
        return []
    louder = noise_level(episode) / won[found[-1]] > limits.far_louder * curve.noise / curve.progress
    return found if louder else []


def _episode(found: list[int], limits: Limits) -> list[int]:
    """The longest row of returns that lie close together."""
    longest: list[int] = []
    for start in range(len(found) - limits.times + 1):
        for end in range(len(found), start + max(limits.times - 1, len(longest)), -1):
            if end - start >= limits.dense * (found[end - 1] - found[start] + 1):
                longest = found[start:end]
                break
    return longest
