from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.lost_scores import lost_score
from bedside.record.series import Series


def errors(*parts):
    values = np.concatenate([np.linspace(*part) for part in parts])
    return Series("train/fid", "", np.arange(len(values)), values)


@pytest.mark.parametrize(("end", "lost"), [(40, True), (25, False)])
def test_errors_that_doubled_are_lost_however_many_there_were_at_first(end, lost):
    assert (lost_score(errors((400, 15, 20), (15, end, 20))) is not None) is lost


def test_a_rising_score_has_no_such_multiple():
    up = Series("val/accuracy", "", np.arange(40), np.r_[np.linspace(0.1, 0.8, 20), np.linspace(0.8, 0.7, 20)])
    assert lost_score(up) is None
