"""The weights shrink towards zero, and the loss suffers.

## What it sees
A weight norm that falls to a fraction of what it was, while the loss gets no better.

## Why it matters
Weight decay pulls every weight towards zero; the gradient must hold against it. When the pull is stronger, the network
forgets, its outputs become constant, and with them the loss.

## How it decides
The norm is below `small` of its first value at the end, it came down by degrees, and the loss at the end is no better
than it was when the norm had lost its first tenth, or clearly worse than its best since. With more than `stuck` of the
loss left, it also counts when the loss has stood for a third of the run, or when decay takes more than `hard` of every
weight at each step (learning rate times weight decay). So hard a decay need not have come that far: it is reported once
the norm has lost `begun`, at `unopposed` or more of the pace of the decay alone, for where that leads is known. Weights
that shrink while the loss falls are healthy (embeddings that start large, normalised layers). Single layers that fall
below `layer` of their first norm by degrees, while the usual layer keeps `kept`, are reported too: a note while the
loss does well.

## When it is wrong
Pruning and sparsity on purpose.

## What to try
1. Lower the weight decay: learning rate times weight decay is the share of the weights that a step takes away.
2. Leave biases and normalisation layers out of it.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.3] * 200, param_norm=[11 * 0.98**k for k in range(200)])
>>> print(*shrinking_weights.check(run))
WGT102 shrinking-weights: The weights shrank from 11 to 0.206, 1.9 % of what they were, and the loss did not improve.

## References
- Loshchilov and Hutter (2019), Decoupled weight decay regularization.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves
from bedside.analysis.losses import require_meant_to_fall
from bedside.analysis.optimizers import weight_decay
from bedside.analysis.progress import share_of_loss_won
from bedside.analysis.statistics import in_blocks
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LOSS, PARAM_NORM
from bedside.rules.advice import WEIGHT_DECAY, learning_rate, one_digit
from bedside.rules.base import rule
from bedside.wording import listed, number, percent

BLOCKS = 8  # of the loss since the onset: long enough to be a level


@dataclass(frozen=True)
class Limits:
    small: float = 0.5  # of the first norm: half of everything is gone
    mostly: float = 0.8  # of the readings fall: a decline, no jump
    better: float = 0.95  # of the earlier loss: an improvement that the shrinking could serve
    stuck: float = 0.5  # of the first loss, or of chance: a net that stops there has not learnt its task
    hard: float = 3e-3  # of every weight per step: published recipes take 1e-4, those that make nets grok 1e-3
    readings: int = 20  # a decline has many steps, a jump has one
    begun: float = 0.1  # of the first norm, under a decay that is `hard`: the onset that the finding is dated to
    layer: float = 0.2  # of a layer's first norm: regularised layers of healthy nets keep a half
    some: float = 0.34  # of the layers: more is the whole network's matter
    kept: float = 0.7  # of its first norm: the usual layer has not shrunk
    unopposed: float = 0.5  # of the pace of the decay alone: gradients that hold against it leave nothing of that


@rule("WGT102", severity=Severity.WARNING, needs=[PARAM_NORM, LOSS], limits=Limits())
def shrinking_weights(run: Run, limits: Limits) -> Iterator[Finding]:
    require_meant_to_fall(run)
    norms = run.series(PARAM_NORM.name).finite()
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of param_norm, has {len(norms)}")
    yield from _single_layers(run, limits)
    first, now = float(norms.values[0]), norms.median(5)
    small = 1 - limits.begun if _unopposed(run, norms, limits) else limits.small
    if not 0 <= now < small * first:
        return
    on_the_way = norms.values[: int(np.argmax(norms.values < small * first)) + 1]
    if np.mean(np.diff(on_the_way) < 0) < limits.mostly:
        return
    onset = int(norms.steps[int(np.argmax(norms.values < 0.9 * first))])
    loss = run.loss.finite()
    if not loss:
        return
    then, end = loss.before(onset + 1).median(10), loss.median(max(5, len(loss) // 10))
    best = float(in_blocks(loss.since(onset), most=BLOCKS).medians.min())
    improved = end < then - (1 - limits.better) * abs(then)
    worse = end >= best + 2 * (1 - limits.better) * abs(best)
    decay, rate = weight_decay(run), learning_rate(run, onset)
    pull = decay * rate
    held_back = share_of_loss_won(run) < 1 - limits.stuck and (_stands(loss, limits) or pull > limits.hard)
    if math.isnan(then) or (improved and not worse and not held_back):
        return
    fate = "did not improve" if not improved else "got worse again" if worse else f"is still at {number(end)}"
    where = [s.owner for s in leaves(run, PARAM_NORM) if (v := s.finite()) and v.median(5) < 0.1 * float(v.values[0])]
    lower = f"from {number(decay)} to about {number(one_digit(decay / 100))}" if decay > 0 else "100-fold"
    yield shrinking_weights.finding(
        f"The weights shrank from {number(first)} to {number(now)}, {number(100 * now / first, 2)} % of what they "
        f"were, and the loss {fate}.",
        first_step=onset,
        last_step=norms.last_step,
        confidence=0.85 if now < 0.5 * limits.small * first else 0.7,
        where=where[:20],
        evidence={"first": first, "now": now, "weight_decay": decay, "taken_per_step": pull, "loss": [then, end]},
        series=[PARAM_NORM.name, LOSS.name],
        could_also_be=("A penalty on the weights inside the loss: print its share of the loss.",),
        try_=(
            Advice(
                f"Lower the weight decay {lower}"
                + (f": now each step takes {number(pull, 2)} of every weight." if math.isfinite(pull) else "."),
                WEIGHT_DECAY,
                -1,
            ),
        ),
    )


def _single_layers(run: Run, limits: Limits) -> Iterator[Finding]:
    """Layers that all but vanish while the rest of the network keeps its size."""
    layers = [series.finite() for series in leaves(run, PARAM_NORM)]
    layers = [series for series in layers if len(series) >= limits.readings and series.values[0] > 0]
    shares = {series.owner: series.median(5) / float(series.values[0]) for series in layers}
    gone = [series for series in layers if shares[series.owner] < limits.layer and _declined(series, limits)]
    if not gone or len(gone) > limits.some * len(layers) or _typical(shares) < limits.kept:
        return
    worst = min(gone, key=lambda series: shares[series.owner])
    suffers = share_of_loss_won(run) < 1 - limits.stuck
    onset = int(worst.steps[int(np.argmax(worst.values < 0.5 * worst.values[0]))])
    yield shrinking_weights.finding(
        f"The weights of {listed(f'`{series.owner}`' for series in gone)} shrank to "
        f"{percent(shares[worst.owner])} of what they were, while the rest of the network kept its size.",
        severity=None if suffers else Severity.NOTE,
        first_step=onset,
        last_step=worst.last_step,
        confidence=0.75,
        where=[series.owner for series in gone],
        evidence={"shares": {series.owner: shares[series.owner] for series in gone}},
        series=[worst.key, LOSS.name],
        could_also_be=("A layer that the network does not need, which weight decay removes.",),
        try_=(f"Check the weight decay and the learning rate of the parameter group that holds `{worst.owner}`.",),
    )


def _declined(series: Series, limits: Limits) -> bool:
    """Whether it came down by degrees: a jump is weight-jump's."""
    down = series.values[: int(np.argmax(series.values < limits.layer * series.values[0])) + 1]
    return len(down) >= limits.readings // 2 and float(np.mean(np.diff(down) < 0)) >= limits.mostly


def _typical(shares: dict[str, float]) -> float:
    return float(np.median(list(shares.values())))


def _unopposed(run: Run, norms: Series, limits: Limits) -> bool:
    """Whether a decay that is `hard` took the first part of the weights as if there were no gradient."""
    lost = np.flatnonzero(norms.values < (1 - limits.begun) * norms.values[0])
    if not len(lost):
        return False
    step = int(norms.steps[lost[0]])
    pull = weight_decay(run) * learning_rate(run, norms.first_step, step)
    alone = -math.log1p(-limits.begun) / pull if pull > limits.hard else 0.0  # steps that the decay takes by itself
    return step - norms.first_step <= alone / limits.unopposed


def _stands(loss: Series, limits: Limits) -> bool:
    """Whether the last third of the run won nothing over the third before it."""
    third = len(loss) // 3
    now, before = loss.median(third), loss.head(len(loss) - third).median(third)
    return third >= BLOCKS and now > limits.better * before > 0
