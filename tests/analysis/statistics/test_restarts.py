"""The stretches between resumes."""

from __future__ import annotations

import numpy as np

from bedside.analysis.statistics import segments
from bedside.record.run import Event
from bedside.testing import a_run


def test_segments_are_cut_at_resumes_only():
    run = a_run(loss=np.arange(10.0), events=[Event(4, "resume"), Event(7, "epoch")])
    assert [len(piece) for piece in segments(run, run.loss)] == [4, 6]
    assert [len(piece) for piece in segments(a_run(loss=[1, 2]), a_run(loss=[1, 2]).loss)] == [2]
    assert segments(a_run(loss=[]), a_run(loss=[]).loss) == []
