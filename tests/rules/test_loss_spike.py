from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.loss_spike import loss_spike
from bedside.testing import a_run


def falling(n=1000, start=11.0, end=3.3, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return end + (start - end) * np.exp(-np.arange(n) / (n / 10)) + noise * rng.normal(size=n)


def warnings(run):
    return [finding for finding in loss_spike.check(run) if finding.severity == Severity.WARNING]


def test_speaks_when_one_batch_undoes_all_progress():
    loss = falling(n=300, start=2.1, end=0.2, noise=0.03)
    loss[200] = 90
    (finding,) = warnings(a_run(loss=loss, lr=1e-3))
    assert (finding.first_step, finding.last_step) == (200, 200)
    assert "step 200" in finding.message


def test_speaks_when_a_language_model_leaps_and_needs_many_steps_to_return():
    loss = falling(n=5000)
    loss[3000:3200] += 2 * np.exp(-np.arange(200) / 60)
    (finding,) = warnings(a_run(loss=loss))
    assert finding.first_step == pytest.approx(3000, abs=2)
    assert finding.evidence["readings"] > 20


def test_speaks_when_moderate_leaps_come_again_and_again():
    loss = falling()
    loss[[400, 600, 800]] += 2.0
    (finding,) = warnings(a_run(loss=loss))
    assert finding.evidence["spikes"] == 3


def test_only_notes_a_single_moderate_leap():
    loss = falling()
    loss[600] += 2.0
    (finding,) = loss_spike.check(a_run(loss=loss))
    assert finding.severity == Severity.NOTE


def test_finds_a_leap_of_a_loss_so_small_that_its_logarithm_is_all_noise():
    loss = 0.7 * np.exp(-np.arange(600) / 40) + 0.004 * np.exp(1.5 * np.random.default_rng(1).normal(size=600))
    loss[400] = 5.5
    (finding,) = warnings(a_run(loss=loss))
    assert finding.first_step == 400


def test_finds_spikes_of_a_loss_that_may_be_negative():
    loss = falling(start=0.5, end=-0.9, noise=0.01)
    loss[500:503] = 4
    assert warnings(a_run(loss=loss))


@pytest.mark.parametrize("seed", range(10))
def test_stays_silent_on_heavy_tailed_noise(seed):
    rng = np.random.default_rng(seed)
    loss = falling(n=2000) * np.exp(0.15 * rng.laplace(size=2000))
    assert warnings(a_run(loss=loss)) == []


def test_stays_silent_on_a_new_level_and_on_a_divergence():
    rise, up = falling(), falling()
    rise[700:] += 3
    up[700:] += np.linspace(0, 30, 300)
    assert warnings(a_run(loss=rise)) == []
    assert warnings(a_run(loss=up)) == []


def test_stays_silent_at_a_resume_and_at_a_warm_restart():
    loss = falling()
    loss[500:520] += 5
    assert warnings(a_run(loss=loss, events=[Event(500, "resume")])) == []
    lr = np.r_[np.linspace(1, 0.01, 500), np.linspace(1, 0.01, 500)]
    assert warnings(a_run(loss=loss, lr=lr)) == []
    assert warnings(a_run(loss=loss))


def test_stays_silent_on_the_first_steps():
    loss = falling()
    loss[2:6] += 30
    assert warnings(a_run(loss=loss)) == []


def test_is_not_examined_when_too_short():
    assert isinstance(loss_spike.examine(a_run(loss=[1.0] * 10)), NotExamined)


def test_only_notes_leaps_of_a_young_run_that_are_outgrown():
    loss = 2.3 * np.exp(-np.arange(300) / 90) + 0.001 * np.random.default_rng(0).normal(size=300)
    loss[70:73] = 3.2
    [finding] = loss_spike.check(a_run(loss=loss))
    assert finding.severity == Severity.NOTE
    assert warnings(a_run(loss=np.r_[loss[:70], [9.0] * 3, loss[73:]]))  # far beyond what it began at
    late = 2.3 * np.exp(-np.arange(300) / 90)
    late[200:203] = 3.2
    assert warnings(a_run(loss=late))


@pytest.mark.parametrize(("end", "speaks"), [(0.08, False), (0.12, True)])
def test_only_notes_a_leap_at_any_age_after_which_nearly_all_was_won(end, speaks):
    loss = np.r_[np.geomspace(2.0, 0.2, 200), np.geomspace(0.2, 0.2 * end, 200)]
    loss[200:206] = 1.5
    assert bool(warnings(a_run(loss=loss))) is speaks


def restless(first, leaps=8):
    """A curve that leaps every ten readings from `first` on: too often for leaps to be out of the ordinary."""
    loss = 2.0 + np.random.default_rng(0).normal(0, 0.05, 400)
    loss[:first] += np.exp(-np.arange(first) / 40)
    loss[first : first + 10 * leaps : 10] = 12.0
    return [each for each in loss_spike.check(a_run(loss=list(loss))) if "the untrained network" in each.message]


@pytest.mark.parametrize(("first", "speaks"), [(81, True), (79, False)])
def test_speaks_when_leaps_have_become_the_rule(first, speaks):
    assert len(restless(first)) == speaks


@pytest.mark.parametrize("seed", range(6))
def test_single_batches_of_a_classifier_that_knows_most_of_them_have_wild_losses(seed):
    rng, time = np.random.default_rng(seed), np.arange(600)
    loss = (0.01 + 0.6 * np.exp(-time / 30)) * np.exp(1.4 * np.minimum(1, time / 40 + 0.2) * rng.normal(size=600))
    assert [each for each in loss_spike.check(a_run(loss=loss)) if each.severity >= Severity.WARNING] == []
    loss[[200, 320, 450]] = 60.0
    assert [each for each in loss_spike.check(a_run(loss=loss)) if each.severity >= Severity.WARNING]


def test_speaks_of_a_reading_beyond_everything_among_seven():
    [found] = loss_spike.check(a_run(loss=[-4.07, -4.49, -4.45, -4.32, 4191.7, -2.41, -2.91]))
    assert "4,19" in found.message or "4.19e3" in found.message


def test_few_readings_that_come_down_from_a_huge_first_one_are_no_spike():
    assert isinstance(loss_spike.examine(a_run(loss=[5331.0, 1037.0, 155.0, 113.0, 109.0, 108.0, 107.0])), NotExamined)
