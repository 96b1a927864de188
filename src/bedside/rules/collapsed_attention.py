"""Attention looks at one token only, in most layers, and the loss is no better for it.

## What it sees
The share of queries whose attention is all but on a single key (near-Dirac), per layer.

## Why it matters
Attention that has collapsed passes one token on and next to no gradient to its scores, so it stays as it is. Entropy
that falls in many layers at once comes with, and before, divergence. A single peaked head is no illness: induction
heads look at one token because it is the right one.

## How it decides
In at least `layers` of the layers more than `peaked` of the queries are near-Dirac to the end. When they were not at
the start, it is a warning if the loss is `higher` than when it began, otherwise a note. When they were so from the
first reading on, it is a warning if the model knew nothing then (its first loss was chance or worse): untrained
attention looks everywhere alike, unless its scores start far too large. A trained model may well have sharp heads.

## When it is wrong
Tasks in which looking at one place is the answer, such as copying.

## What to try
1. Lower the learning rate, or warm it up for longer.
2. Normalise queries and keys (QK-norm), or weight decay on their projections.

## Example
>>> from bedside.testing import a_run
>>> falling = [0.0] * 40 + [0.95] * 60
>>> run = a_run(loss=[3.0] * 40 + [3.5] * 60, attention_dirac={"layer.0": falling, "layer.1": falling})
>>> print(*collapsed_attention.check(run))
ACT105 collapsed-attention: In 2 of 2 layers attention collapsed onto single tokens at step 40; the loss is higher now.

## References
- Zhai et al. (2023), Stabilizing transformer training by preventing attention entropy collapse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import training_loss
from bedside.analysis.statistics import running_median
from bedside.analysis.windows import since_above
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import ATTENTION_DIRAC, ATTENTION_ENTROPY, LOSS
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    peaked: float = 0.8  # of the queries of a layer, over all heads: single heads may be peaked, whole layers are not
    layers: float = 0.5  # of all: what is wrong with the run shows in most of them
    fewest: int = 20  # readings
    higher: float = 1.05  # of the loss at the onset: five percent lost since then are more than noise
    untrained: float = 0.9  # of the loss of a blind guess, at the first steps: nothing is known yet


@rule("ACT105", severity=Severity.WARNING, needs=[ATTENTION_DIRAC.per_owner], limits=Limits())
def collapsed_attention(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = [s for s in run.of(ATTENTION_DIRAC.name) if len(s.finite()) >= limits.fewest]
    onsets = {s.owner: onset for s in layers if (onset := _onset(s, limits)) is not None}
    if not layers or len(onsets) < max(1, limits.layers * len(layers)):
        return
    step = int(np.median(list(onsets.values())))
    losses = training_loss(run).finite()
    before, now = losses.before(step + 1).median(limits.fewest), losses.median(limits.fewest)
    at_first = step <= int(np.median([s.first_step for s in layers]))
    if at_first and not _untrained(run, losses, limits):
        return
    if at_first:
        happened = f"attention has looked at single tokens since {moment(run, step)}"
        harm = "an untrained one looks around"
    else:
        higher = now > limits.higher * before
        happened = f"attention collapsed onto single tokens at {moment(run, step)}"
        harm = "the loss is higher now" if higher else "the loss has not suffered"
    yield collapsed_attention.finding(
        f"In {len(onsets)} of {len(layers)} layers {happened}; {harm}.",
        severity=None if at_first or higher else Severity.NOTE,
        first_step=min(onsets.values()),
        last_step=layers[0].last_step,
        confidence=0.7,
        where=list(onsets),
        evidence={"layers": len(onsets), "of": len(layers), "loss_before": before, "loss_now": now},
        series=[f"{ATTENTION_ENTROPY.name}/{owner}" for owner in list(onsets)[:3]] + [LOSS.name],
        could_also_be=("A task in which looking at one place is the answer.",),
        try_=(
            "Divide the scores by the square root of the head's size, and start queries and keys small (std 0.02)."
            if at_first
            else lower_learning_rate(run, step, by=3),
            "Normalise queries and keys before their product (QK-norm).",
        ),
    )


def _untrained(run: Run, losses: Series, limits: Limits) -> bool:
    """Whether the first loss is that of a model which knows nothing; no, where nobody knows what that would be."""
    chance = known_chance(run.config)
    return chance is not None and len(losses) > 0 and float(losses.values[0]) >= limits.untrained * chance.level


def _onset(series: Series, limits: Limits) -> int | None:
    """The step from which on nearly all queries look at one key, but for lone readings; None if they do not."""
    finite = series.finite()
    calm = Series(series.vital, series.owner, finite.steps, running_median(finite.values, 11))  # a batch is a sample
    step = since_above(calm, limits.peaked)
    return step if len(series.since(step)) > limits.fewest // 4 else None
