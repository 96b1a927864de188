import numpy as np
import pytest

from bedside.analysis.way import way
from bedside.testing import a_run


def test_the_length_is_that_of_all_steps_together_however_seldom_they_were_read():
    updates = [1e-3 if k < 20 or k % 40 == 0 else np.nan for k in range(400)]
    run = a_run(loss=np.linspace(2.0, 1.0, 400), relative_update_norm=updates)
    assert way(run, run.loss).length == pytest.approx(0.4, rel=0.01)


def test_a_loss_that_is_logged_now_and_then_makes_the_way_no_shorter():
    loss = [2.0 - k / 400 if k % 4 == 0 else np.nan for k in range(400)]
    run = a_run(loss=loss, relative_update_norm=1e-3)
    assert way(run, run.loss.finite()).length == pytest.approx(0.4, rel=0.03)


def test_evenness_is_one_on_a_straight_line_and_small_where_the_curve_has_bent():
    straight = a_run(loss=np.linspace(2.0, 1.0, 400), relative_update_norm=1e-3)
    assert way(straight, straight.loss).evenness == pytest.approx(1.0, abs=0.05)
    bent = a_run(loss=1 + np.exp(-np.arange(400) / 40), relative_update_norm=1e-3)
    assert way(bent, bent.loss).evenness < 0.1


def test_a_schedule_that_ends_is_no_bend():
    """The loss falls with the way: late steps are short and win little, and the pace along the way is the same."""
    rate = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(400) / 400))
    seldom = [each if k < 8 or k % 80 == 0 else np.nan for k, each in enumerate(rate)]
    for updates in (rate, seldom):
        run = a_run(loss=2.0 - 4 * np.cumsum(rate), lr=rate, relative_update_norm=updates)
        assert way(run, run.loss).evenness == pytest.approx(1.0, abs=0.1)
        assert way(run, run.loss).length == pytest.approx(rate.sum(), rel=0.02)


def test_there_is_no_way_where_too_little_was_read_or_nothing_fell():
    few = a_run(loss=np.linspace(2.0, 1.0, 400), relative_update_norm=[1e-3] * 5 + [np.nan] * 395)
    assert way(few, few.loss) is None
    noise = a_run(loss=2 + 0.1 * np.random.default_rng(0).standard_normal(400), relative_update_norm=1e-3)
    assert way(noise, noise.loss) is None
    still = a_run(loss=np.linspace(2.0, 1.0, 400), relative_update_norm=0.0)
    assert way(still, still.loss) is None
