import numpy as np

from bedside.rules.ranks_disagree import ranks_disagree
from bedside.testing import a_run

NORM = 5 + 0.01 * np.arange(60)


def check(**ranks):
    return ranks_disagree.check(a_run(loss=1.0, rank_param_norm={k[1:]: v for k, v in ranks.items()}))


def test_speaks_when_replicas_part():
    [found] = check(_0=NORM, _1=NORM + np.r_[np.zeros(30), 0.01 * np.arange(30)])
    assert (found.where, found.first_step) == (("rank 0", "rank 1"), 31)


def test_stays_silent_when_they_stay_together():
    assert not check(_0=NORM, _1=NORM)


def test_stays_silent_when_each_holds_a_part_of_the_model():
    assert not check(_0=NORM, _1=2 * NORM)


def test_stays_silent_when_they_met_again():
    assert not check(_0=NORM, _1=NORM + np.r_[np.zeros(30), np.ones(10), np.zeros(20)])


def test_speaks_when_replicas_that_began_alike_parted_at_the_first_step():
    parted = {"0": NORM, "1": NORM * (1 + 1e-3 + 1e-4 * np.arange(60))}
    run = a_run(loss=1.0, rank_param_norm=parted, rank_initial_norm={"0": [5.0], "1": [5.0]})
    [found] = ranks_disagree.check(run)
    assert found.first_step == 0
    parts = a_run(loss=1.0, rank_param_norm=parted, rank_initial_norm={"0": [5.0], "1": [5.004]})
    assert not ranks_disagree.check(parts)
