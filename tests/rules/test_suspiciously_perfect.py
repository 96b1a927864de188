from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.suspiciously_perfect import suspiciously_perfect
from bedside.testing import a_run

RNG = np.random.default_rng(0)


SOLVED = np.r_[np.geomspace(2.3, 1e-4, 20), np.full(480, 1e-4)]


def test_speaks_when_both_sets_are_solved_at_once():
    (finding,) = suspiciously_perfect.check(a_run(loss=SOLVED, val_loss=[2.3] + [1e-4] * 49))
    assert finding.preview
    assert finding.first_step < 30


@pytest.mark.parametrize(
    ("loss", "val"),
    [
        (SOLVED, [2.3] + [0.5] * 49),
        (np.geomspace(2.3, 1e-4, 500), np.geomspace(2.3, 1e-4, 50)),
        (-SOLVED, [-2.3] + [-1e-4] * 49),
        (np.full(500, 1e-4), [1e-4] * 50),
    ],
    ids=["memorised only", "in its own time", "negative", "began there"],
)
def test_stays_silent(loss, val):
    assert suspiciously_perfect.check(a_run(loss=loss, val_loss=val)) == []


def test_is_not_examined_without_validation():
    assert isinstance(suspiciously_perfect.examine(a_run(loss=SOLVED)), NotExamined)


def test_stays_silent_when_validation_rose_before_it_was_solved():
    understood_late = [2.3, 3.1, 4.0, *[1e-4] * 47]
    assert suspiciously_perfect.check(a_run(loss=SOLVED, val_loss=understood_late)) == []
