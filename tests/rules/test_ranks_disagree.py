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
