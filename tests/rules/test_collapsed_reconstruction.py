from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.collapsed_reconstruction import collapsed_reconstruction
from bedside.testing import a_run

NOISE = np.exp(0.05 * np.random.default_rng(0).standard_normal(200))


def run(variation):
    return a_run(loss=0.1, reconstruction_variation=variation * NOISE)


def test_speaks_when_outputs_become_alike():
    [found] = collapsed_reconstruction.check(run(np.geomspace(0.2, 0.08, 200)))
    assert found.severity == Severity.WARNING
    assert "so all are alike" in found.message


def test_stays_silent_when_they_come_to_differ():
    assert not collapsed_reconstruction.check(run(np.geomspace(0.17, 0.5, 200)))


def test_stays_silent_while_a_slow_start_is_still_growing():
    assert not collapsed_reconstruction.check(run(np.geomspace(0.001, 0.04, 200)))


def test_says_so_when_the_run_is_short_or_no_autoencoder():
    assert isinstance(collapsed_reconstruction.examine(a_run(loss=0.1)), NotExamined)
    short = a_run(steps=10, loss=0.1, reconstruction_variation=[0.02] * 10)
    assert isinstance(collapsed_reconstruction.examine(short), NotExamined)


def test_a_short_run_that_was_read_at_its_first_steps_and_seldom_later_is_judged():
    seldom = np.full(330, np.nan)
    seldom[:22], seldom[[100, 200, 300]] = 0.18, [0.13, 0.11, 0.10]
    [found] = collapsed_reconstruction.check(a_run(loss=0.1, reconstruction_variation=seldom))
    assert "by 11 % of what the samples do" in found.message
    seldom[[100, 200, 300]] = [0.13, np.nan, 0.10]
    assert isinstance(collapsed_reconstruction.examine(a_run(reconstruction_variation=seldom)), NotExamined)


@pytest.mark.parametrize(
    ("varies", "step", "speaks"), [(0.09, 300, True), (0.11, 300, False), (0.09, 199, False), (0.09, 249, False)]
)
def test_speaks_of_a_code_whose_means_are_all_alike(varies, step, speaks):
    code = Event(step, "code_divergence", {"weight": 20.0, "size": 0.1, "varies": varies})
    found = collapsed_reconstruction.examine(a_run(loss=[0.1] * 500, events=[code]))
    assert (not isinstance(found, NotExamined) and "tells nothing of its input" in found[0].message) is speaks
