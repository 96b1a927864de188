"""Since when a curve has been flat, if it is."""

from __future__ import annotations

import numpy as np

from bedside.analysis.statistics.block_means import Blocks

GAIN = 0.05  # of the progress: less than this was won after the flat stretch began
NOISE = 4.0  # σ of a block mean: the range of thirty means of pure noise


def flat_since(blocks: Blocks) -> int:
    """Index of the first block after which nothing more was won; the last index if the curve falls to its end."""
    means = blocks.means
    if len(means) < 3:
        return len(means) - 1
    lowest_later = np.minimum.accumulate(means[::-1])[::-1]
    still_to_win = means - lowest_later
    slack = max(GAIN * float(means[0] - means.min()), NOISE * blocks.noise)
    falling = np.flatnonzero(still_to_win > slack)
    return int(falling[-1]) + 1 if len(falling) else 0
