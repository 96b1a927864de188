"""Each limit of a divergence, from both sides: what is just beneath it is alike, what is just above it is not."""

import numpy as np
import pytest

from bedside.comparison.divergence import find_divergence, same_numbers
from bedside.record.series import Series


def series(values, vital="loss", every=1):
    values = np.asarray(values, float)
    return Series(vital, "", np.arange(len(values)) * every, values)


def pair(vital, left, right, n=120):
    return find_divergence(series(np.full(n, left), vital), series(np.full(n, right), vital))


@pytest.mark.parametrize(
    ("vital", "left", "alike", "apart"),
    [
        ("lr", 1.0, 1.004, 1.02),  # people set it: a hundredth
        ("grad_norm", 1.0, 1.7, 2.4),  # sizes: twofold
        ("dead_fraction", 0.3, 0.45, 0.55),  # shares: a fifth of all
        ("label_entropy", 2.0, 2.15, 2.4),  # anything else: a tenth of its level
    ],
)
def test_each_kind_of_vital_has_its_own_scale(vital, left, alike, apart):
    assert pair(vital, left, alike) is None
    assert pair(vital, left, apart) is not None


def test_of_a_loss_the_range_of_both_curves_is_the_scale():
    fall = np.linspace(3.0, 1.0, 240)
    assert find_divergence(series(fall), series(fall + 0.03)) is None
    assert find_divergence(series(fall), series(fall + 0.15)) is not None


def test_a_difference_within_the_noise_is_none():
    rng = np.random.default_rng(0)
    fall = np.linspace(3.0, 1.0, 60)
    left, right = (fall + 0.1 * rng.normal(size=60) for _ in range(2))
    assert find_divergence(series(left), series(right + 0.15)) is None
    assert find_divergence(series(left), series(right + 1.2)) is not None


def test_sizes_that_touch_zero_are_compared_as_they_are():
    flat = np.r_[0.0, np.ones(119)]
    assert find_divergence(series(flat, "grad_norm"), series(flat * 1.05, "grad_norm")) is None
    assert find_divergence(series(flat, "grad_norm"), series(flat * 3, "grad_norm")) is not None


def test_a_few_readings_show_nothing():
    assert find_divergence(series(np.full(7, 1.0), "lr"), series(np.full(7, 2.0), "lr")) is None
    assert find_divergence(series(np.full(9, 1.0), "lr"), series(np.full(9, 2.0), "lr")) is not None


def test_the_onset_is_dated_to_one_of_sixty_places():
    rate = np.r_[np.full(300, 1.0), np.full(300, 2.0)]
    found = find_divergence(series(np.ones(600), "lr"), series(rate, "lr"))
    assert 290 <= found.step <= 310
    assert pair("lr", 1.0, 2.0, n=6000).step == 0


def test_what_is_over_in_the_last_tenth_was_no_divergence():
    apart = np.r_[np.full(100, 1.0), np.full(460, 2.0), np.full(40, 1.0)]
    assert find_divergence(series(np.ones(600), "lr"), series(apart, "lr")) is None
    late = np.r_[np.full(530, 1.0), np.full(70, 2.0)]
    assert find_divergence(series(np.ones(600), "lr"), series(late, "lr")) is not None


def test_same_random_numbers_are_those_of_float32():
    first = 2.3456789
    assert same_numbers(series([first, 1]), series([first * (1 + 5e-7), 1]))
    assert not same_numbers(series([first, 1]), series([first * (1 + 3e-6), 1]))
    assert not same_numbers(series([2.5, 1]), series([2.5, 1]))  # rounded: equal by chance


def test_runs_with_the_same_random_numbers_may_drift_by_rounding():
    base = np.linspace(3.0, 1.0, 200)
    drift = 1 + np.linspace(0, 0.006, 200)
    assert find_divergence(series(base), series(base * drift), exact=True) is None
    leaves = base.copy()
    leaves[80:] *= 1.02
    assert find_divergence(series(base), series(leaves), exact=True).step == 80
    small = base.copy()
    small[40:] *= 1 + 3e-6  # the first sign of it, before it comes to anything
    small[80:] *= 1.02
    assert find_divergence(series(base), series(small), exact=True).step == 40


def test_one_that_stops_being_finite_diverges_where_it_does():
    left, right = np.ones(120), np.r_[np.ones(50), np.full(70, np.nan)]
    found = find_divergence(series(left), series(right))
    assert found is not None
    assert found.step == 50
    assert find_divergence(series(right), series(right)) is None


def test_only_the_steps_that_both_have_are_compared():
    longer = np.r_[np.ones(120), np.full(120, 5.0)]
    assert find_divergence(series(np.ones(120), "lr"), series(longer, "lr")) is None


@pytest.mark.parametrize("places", [1, 3])
def test_what_differs_at_the_very_end_only_is_no_divergence(places):
    other = np.r_[np.ones(60 - places), np.full(places, 2.0)]
    assert find_divergence(series(np.ones(60), "lr"), series(other, "lr")) is None


@pytest.mark.parametrize("exact", [False, True])
def test_a_curve_of_one_reading_cannot_be_compared(exact):
    assert find_divergence(series([1.0]), series(np.full(120, 9.0)), exact=exact) is None


def test_a_change_between_two_places_counts_from_the_next_one():
    rate = np.r_[np.full(308, 1.0), np.full(292, 2.0)]  # places of ten readings: most of this one are before the change
    assert find_divergence(series(np.ones(600), "lr"), series(rate, "lr")).step == 310


def test_curves_that_overlap_for_a_short_while_are_compared_there():
    whole = series(np.ones(1000), "lr")
    late = Series("lr", "", np.arange(900, 1000), np.full(100, 2.0))
    early = Series("lr", "", np.arange(100), np.full(100, 2.0))
    assert find_divergence(whole, late).step == 900
    assert find_divergence(whole, early).step == 0


def test_one_spike_does_not_make_the_range_of_a_loss():
    fall = np.linspace(3.0, 1.0, 60)
    spiked = fall + 0.5
    spiked[10] = 50.0
    assert find_divergence(series(fall), series(spiked)) is not None


def test_a_size_that_touches_zero_in_one_run_only_is_compared_as_it_is():
    flat = np.ones(60)  # a reading for each place
    assert find_divergence(series(np.r_[0.0, flat[1:]], "grad_norm"), series(flat * 1.05, "grad_norm")) is None
