import pytest

from bedside.rules.lost_rank import lost_rank
from bedside.testing import a_run


def check(times, ended):
    by_rank = [{str(rank): [value] for rank, value in enumerate(values)} for values in (times, ended)]
    return lost_rank.check(a_run(loss=1.0, steps=50, rank_last_time=by_rank[0], rank_finished=by_rank[1]))


def test_names_the_rank_that_was_killed_while_another_lost_contact():
    [found] = check([100.5, 100.0], [0.5, -1.0])
    assert found.where == ("rank 1",)
    assert "killed" in found.message


def test_names_the_rank_with_an_error_of_its_own_though_another_was_killed_before_it_wrote():
    [found] = check([99.0, 100.0], [-1.0, 0.0])
    assert found.where == ("rank 1",)
    assert "exception of its own" in found.message


def test_names_a_rank_that_has_been_silent_while_others_go_on():
    [found] = check([1000.0, 1000.4, 900.0], [-1.0, -1.0, -1.0])
    assert found.where == ("rank 2",)


@pytest.mark.parametrize("ended", [[1.0, 1.0], [-1.0, -1.0], [0.5, 0.5], [0.0, 0.0], [1.0, -1.0]])
def test_stays_silent_when_all_go_on_or_end_alike(ended):
    assert not check([1000.0, 999.0], ended)


def test_one_rank_is_not_enough():
    assert not check([1000.0], [0.0])
