"""The reward has not risen since the first episodes: the agent has learned nothing that pays.

## What it sees
A reward, a return or a success rate that was never clearly better than at its first reading, in a run of many.

## Why it matters
In reinforcement learning the loss says little: a value network may learn perfectly what a random policy earns. The
reward is what the training is for, and it is still that of an agent that has not begun.

## How it decides
For every reward of at least `fewest` readings: its best level (running medians, or medians of `levels` parts of a long
series) is above its first readings by less than `noise` times its noise and by less than `gain` of the level, and there
is no rise through all the noise, not even in the second half, to its best. None of
them may have risen; one that is at `full` of a share, where there is nothing to win, runs of fewer than `steps` steps,
and rewards so noisy that one may have `doubled` unseen are left alone.

## When it is wrong
Agents that were good before the first reading: a resumed run, or a first reading that came late.

## What to try
1. Check the sign of the advantage, and that rewards and actions of the same step stand side by side.
2. Log the entropy of the policy: at its maximum the agent acts at random, at zero it tries nothing any more.

## Example
>>> from bedside.testing import a_run
>>> reward = [0.1, 0.12, 0.08, 0.11, 0.1] * 5
>>> print(*stuck_reward.check(a_run(loss=[0.5] * 500, **{"train/mean_reward": reward})))
GEN116 stuck-reward: train/mean_reward has not risen in 25 readings: 0.1 at first, 0.1 now.

## References
- Henderson et al. (2018), Deep reinforcement learning that matters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import is_reward
from bedside.analysis.statistics import outline, trend
from bedside.analysis.statistics.block_means import in_blocks
from bedside.analysis.statistics.outline import WINDOW
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.base import rule
from bedside.wording import number

OF_MEDIAN = 1.25  # σ of a median, over that of a mean: √(π/2)
WORDS = frozenset("return returns reward rewards".split())


@dataclass(frozen=True)
class Limits:
    fewest: int = 15  # readings: of noisy episodes fewer show nothing
    steps: int = 200  # of the run: agents begin slowly
    levels: int = 15  # parts of a long series: the luckiest of so many is 1.7 σ of a median above the rest
    noise: float = 1.0  # σ of one reading, which is 1.8 of a running median: what rose at all is left alone
    gain: float = 0.1  # of the level: an agent that learns at all wins more
    full: float = 0.9  # of a success rate
    doubled: float = 1.0  # of the level: a gain that the noise could hide, at two σ of the last third less the first


@rule("GEN116", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def stuck_reward(run: Run, limits: Limits) -> Iterator[Finding]:
    known = [run.series(vital).finite() for vital in run.vitals if _is_gain(vital)]
    long = [series for series in known if len(series) >= limits.fewest]
    if not long or run.steps < limits.steps:
        raise NotEnough(f"{limits.fewest} readings of a reward, in {limits.steps} steps")
    if any(_rose(series, limits) for series in long):
        return
    if any(_may_hide(series, limits) for series in long):
        raise NotEnough("a reward with less noise, or more readings of it")
    series = long[0]
    first, now = (float(np.median(part)) for part in (series.values[:3], series.values[-len(series) // 3 :]))
    yield stuck_reward.finding(
        f"{series.key} has not risen in {len(series)} readings: {number(first)} at first, {number(now)} now.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.75,
        evidence={"first": first, "now": now, "readings": len(series)},
        series=[series.key, "loss"],
        could_also_be=["an agent that was good before the first reading.", "a reward too rare to be met by chance."],
        try_=[
            "Check the sign: a policy gradient descends on -(log_prob * advantage).mean().",
            "Log the entropy of the policy: at its maximum the bonus for it is too large, at zero nothing is tried.",
            "Compute the targets of one batch by hand, with rewards, actions and ends of episodes beside them.",
        ],
    )


def _is_gain(vital: str) -> bool:
    words = set(re.split(r"[^a-z]+", vital.rsplit("/", 1)[-1].lower()))
    return goes_up(vital) is True and (is_reward(vital) or bool(words & WORDS))


def _rose(series: Series, limits: Limits) -> bool:
    """Whether it ever was clearly better than at first, or is as good as it can be."""
    curve = outline(Series(series.vital, series.owner, series.steps, -series.values))
    first, best = float(np.median(series.values[:3])), -curve.best
    if (width := len(series) // limits.levels) > WINDOW:  # the best of many running medians is one that was lucky
        best = float(in_blocks(series, size=width).medians.max())
    level = max(abs(first), abs(best))
    full = float(series.values.min()) >= 0 and limits.full <= best <= 1
    rises = trend(series).rising or (series.last >= best and trend(series.tail(len(series) // 2)).rising)
    return full or rises or best - first > max(limits.noise * curve.noise, limits.gain * level)


def _may_hide(series: Series, limits: Limits) -> bool:
    """Whether the noise is so large that the reward may have doubled without anybody seeing it."""
    third = len(series) // 3
    first, now = float(np.median(series.values[:third])), float(np.median(series.values[-third:]))
    error = OF_MEDIAN * outline(series).noise * math.sqrt(2 / third)
    return now - first + 2 * error > limits.doubled * max(abs(first), abs(now))
