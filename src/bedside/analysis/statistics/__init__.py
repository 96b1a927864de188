"""Robust statistics of noisy curves, shared by the rules; numpy only, one idea a file.

Readings of a training curve are autocorrelated, so a raw trend test on them is wrong more often than not (61 % false
positives on AR(1) noise with φ = 0.9). Everything here therefore judges means of blocks longer than the
autocorrelation time, in units of the curve's own noise.

    noise       how much a curve wiggles, and for how long a wiggle is remembered
    block_means a curve as a few dozen independent means
    trend       does it rise or fall, by how much, and is that more than chance
    change_points  when did the level change, and by how much
    restarts    the parts of a curve between restarts
    outline     the curve without its wiggles: where it began, its best, where it is now
    spikes      isolated excursions that come back
    repeats     readings that are equal to the last digit
    plateau     since when a curve has been flat
    cycles      whether it swings to and fro, at whatever period, and how far
    swings      how often a curve goes all the way up again, or by a given height
    confidence  how sure to be, from how far beyond the limit
    cached      what several rules ask of the same curve, computed once
"""

from __future__ import annotations

from bedside.analysis.statistics.block_means import Blocks, in_blocks
from bedside.analysis.statistics.change_points import Shift, change_points, level_shift
from bedside.analysis.statistics.confidence import how_sure
from bedside.analysis.statistics.cycles import Cycle, cycle
from bedside.analysis.statistics.noise import autocorrelation_time, mad, noise_level, wander
from bedside.analysis.statistics.outline import Outline, lowest_reading, outline, running_median
from bedside.analysis.statistics.plateau import flat_since
from bedside.analysis.statistics.repeats import (
    digits_left,
    is_rounded,
    repeats_at_end,
    significant_digits,
    still_learning,
)
from bedside.analysis.statistics.restarts import segments
from bedside.analysis.statistics.spikes import Spike, spikes
from bedside.analysis.statistics.swings import sways, swings
from bedside.analysis.statistics.trend import Trend, kendall, theil_sen, trend
from bedside.record.median import median

__all__ = [
    "Blocks",
    "Cycle",
    "Outline",
    "Shift",
    "Spike",
    "Trend",
    "autocorrelation_time",
    "change_points",
    "cycle",
    "digits_left",
    "flat_since",
    "how_sure",
    "in_blocks",
    "is_rounded",
    "kendall",
    "level_shift",
    "lowest_reading",
    "mad",
    "median",
    "noise_level",
    "outline",
    "repeats_at_end",
    "running_median",
    "segments",
    "significant_digits",
    "spikes",
    "still_learning",
    "sways",
    "swings",
    "theil_sen",
    "trend",
    "wander",
]
