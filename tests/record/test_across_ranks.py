"""What several ranks wrote becomes one number: norms add up by squares, means by samples, and nothing is made up."""

import numpy as np
import pytest

from bedside.record.across_ranks import mean_over_ranks, most, norms_added, ranks_at, ratio, weight_of
from bedside.record.run import Event
from bedside.record.series import Series


def series(values, vital="grad_norm", first=0):
    return Series(vital, "", np.arange(first, first + len(values)), values)


TWO = ranks_at([Event(0, "ranks", {"world_size": 2})])


def test_squares_add_up():
    whole = norms_added([series([3.0, 6.0]), series([4.0, 8.0])], TWO)
    assert whole.values.tolist() == [5.0, 10.0]


def test_a_step_that_one_rank_lacks_is_not_known():
    assert norms_added([series([3.0, 6.0]), series([4.0])], TWO).steps.tolist() == [0]
    assert not norms_added([series([3.0])], TWO)


def test_a_nan_of_one_rank_is_a_nan_of_the_whole():
    whole = norms_added([series([3.0, 1.0]), series([np.nan, 0.0])], TWO)
    np.testing.assert_array_equal(whole.values, [np.nan, 1.0])


def test_after_a_restart_with_fewer_ranks_fewer_are_needed():
    world = ranks_at([Event(0, "ranks", {"world_size": 2}), Event(2, "ranks", {"world_size": 1})])
    whole = norms_added([series([3.0, 3.0, 3.0, 3.0]), series([4.0, 4.0])], world)
    assert whole.values.tolist() == [5.0, 5.0, 3.0, 3.0]


def test_counts_are_those_of_the_worst_rank():
    assert most([series([0.0, 2.0]), series([1.0, 0.0])], TWO).values.tolist() == [1.0, 2.0]


def test_a_ratio_is_one_of_wholes():
    found = ratio("relative_update_norm", series([1.0, 2.0, 3.0]), series([4.0, 0.0], first=1))
    assert (found.steps.tolist(), found.values.tolist()) == ([1], [0.5])


ENDED = float("inf")


def test_means_are_weighted_by_samples():
    whole = mean_over_ranks([series([0.5]), series([0.9])], [series([10.0]), series([30.0])], [ENDED, ENDED])
    assert whole.values.tolist() == [pytest.approx(0.8)]


def test_a_mean_waits_for_a_rank_that_may_still_log_it():
    means, weights = [series([0.5, 0.6]), series([0.9])], [series([1.0, 1.0]), series([1.0])]
    assert mean_over_ranks(means, weights, [1, 1]).steps.tolist() == [0]
    assert mean_over_ranks(means, weights, [1, 2]).steps.tolist() == [0, 1]
    assert mean_over_ranks(means, weights, [1, ENDED]).values.tolist() == [pytest.approx(0.7), 0.6]


def test_a_rank_that_never_logs_it_is_not_waited_for():
    whole = mean_over_ranks([series([0.5]), series([])], [series([1.0]), series([])], [0, 5])
    assert whole.values.tolist() == [0.5]


def test_the_weight_has_the_name_of_its_metric():
    assert weight_of(("val/loss", "")) == ("samples", "val/loss")
