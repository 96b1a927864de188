import numpy as np

from bedside.rules.ranks_see_same_data import ranks_see_same_data
from bedside.testing import a_run

random = np.random.default_rng(0)
ONE, TWO = random.random(60), random.random(60)


def check(**ranks):
    return ranks_see_same_data.check(a_run(loss=1.0, rank_fingerprint={k[1:]: v for k, v in ranks.items()}))


def test_speaks_when_two_ranks_have_the_same_batches():
    [found] = check(_0=ONE, _1=ONE, _2=TWO)
    assert found.where == ("rank 0", "rank 1")


def test_stays_silent_when_every_rank_has_its_own():
    assert not check(_0=ONE, _1=TWO)


def test_stays_silent_when_a_batch_was_shared_by_chance():
    assert not check(_0=ONE, _1=np.r_[ONE[:2], TWO[2:]])


def test_stays_silent_when_all_train_on_one_batch_for_ever():
    assert not check(_0=np.ones(60), _1=np.ones(60))
