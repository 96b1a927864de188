"""Means of blocks: nothing is lost, and the present is judged on a full block."""

from __future__ import annotations

import math

import numpy as np

from bedside.analysis.statistics import in_blocks
from bedside.record.series import Series


def a_series(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, float))


def test_blocks_hold_every_reading_once_and_the_last_block_is_full():
    blocks = in_blocks(a_series(np.arange(103.0)), size=10)
    assert len(blocks) == 10
    assert blocks.means[-1] == np.arange(93, 103).mean()
    assert blocks.means[0] == np.arange(13).mean()
    assert (blocks.first_steps[0], blocks.last_steps[-1]) == (0, 102)


def test_blocks_of_nothing_and_of_nan_are_empty():
    assert len(in_blocks(a_series([]))) == 0
    assert len(in_blocks(a_series([math.nan, math.inf]))) == 0
