"""Attention looks at one token only, in most layers, and the loss is no better for it.

## What it sees
The share of queries whose attention is all but on a single key (near-Dirac), per layer.

## Why it matters
Attention that has collapsed passes one token on and next to no gradient to its scores, so it stays as it is. Entropy
that falls in many layers at once comes with, and before, divergence. A single peaked head is no illness: induction
heads look at one token because it is the right one.

## How it decides
In at least `layers` of the layers more than `peaked` of the queries are near-Dirac to the end, though they were not at
the start. When the loss is no lower than when that began it is a warning, otherwise a note.

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
ACT105 collapsed-attention: In 2 of 2 layers attention collapsed onto single tokens at step 40; the loss is no lower.

## References
- Zhai et al. (2023), Stabilizing transformer training by preventing attention entropy collapse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import ATTENTION_DIRAC, ATTENTION_ENTROPY, LOSS
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.losses import training_loss
from bedside.rules.rule import rule


@dataclass(frozen=True)
class Limits:
    peaked: float = 0.8  # of the queries of a layer, over all heads: single heads may be peaked, whole layers are not
    layers: float = 0.5  # of all: what is wrong with the run shows in most of them
    fewest: int = 20  # readings
    lower: float = 0.95  # of the loss at the onset: five percent won since then is progress


@rule("ACT105", severity=Severity.WARNING, needs=[ATTENTION_DIRAC.per_owner], limits=Limits(), preview_since="0.1")
def collapsed_attention(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = [s for s in run.of(ATTENTION_DIRAC.name) if len(s) >= limits.fewest]
    onsets = {s.owner: onset for s in layers if (onset := _onset(s, limits)) is not None}
    if not layers or len(onsets) < max(1, limits.layers * len(layers)):
        return
    step = int(np.median(list(onsets.values())))
    losses = training_loss(run).finite()
    before, now = losses.before(step + 1).median(limits.fewest), losses.median(limits.fewest)
    stood = not now < limits.lower * before
    yield collapsed_attention.finding(
        f"In {len(onsets)} of {len(layers)} layers attention collapsed onto single tokens at {moment(run, step)}; the "
        f"loss {'is no lower' if stood else 'went on falling'}.",
        severity=None if stood else Severity.NOTE,
        first_step=min(onsets.values()),
        last_step=layers[0].last_step,
        confidence=0.7,
        where=list(onsets),
        evidence={"layers": len(onsets), "of": len(layers), "loss_before": before, "loss_now": now},
        series=[f"{ATTENTION_ENTROPY.name}/{owner}" for owner in list(onsets)[:3]] + [LOSS.name],
        could_also_be=("A task in which looking at one place is the answer.",),
        try_=(
            lower_learning_rate(run, step, by=3),
            "Normalise queries and keys before their product (QK-norm).",
        ),
    )


def _onset(series: Series, limits: Limits) -> int | None:
    """The step from which on nearly all queries look at one key; None if they never do, or always did."""
    below = np.flatnonzero(series.values <= limits.peaked)
    if not len(below) or len(series) - 1 - int(below[-1]) < limits.fewest // 4:
        return None
    return int(series.steps[int(below[-1]) + 1])
