from bedside.rules.straggling_rank import straggling_rank
from bedside.testing import a_run


def check(**waits):
    return straggling_rank.check(a_run(loss=1.0, step_time=0.5, rank_data_wait={k[1:]: v for k, v in waits.items()}))


def test_speaks_when_one_rank_waits_far_longer():
    [found] = check(_0=0.01, _1=0.3, _2=0.012)
    assert found.where == ("rank 1",)


def test_stays_silent_when_all_wait_alike():
    assert not check(_0=0.3, _1=0.31, _2=0.29)


def test_stays_silent_when_the_wait_is_a_small_part_of_the_step():
    assert not check(_0=0.001, _1=0.02, _2=0.001)
