import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.logs.formats.text.lines import read_lines
from bedside.logs.to_run import to_run
from bedside.rules.vanished_learning_rate import vanished_learning_rate
from bedside.testing import a_run

NOISE = np.random.default_rng(0).standard_normal(400)
FALLING = 2.3 * np.exp(-np.minimum(np.arange(400), 40) / 100) + 0.02 * NOISE  # the rate is gone by step 66


def test_speaks_when_an_exponential_decay_ends_a_falling_loss():
    [found] = vanished_learning_rate.check(a_run(loss=FALLING, lr=1e-3 * 0.9 ** np.arange(400)))
    assert found.first_step == 1
    assert "by step 66" in found.message
    assert "84 % of the run followed" in found.message
    assert "Decay by 0.98855 per step instead of 0.9" in found.try_[0]


def test_speaks_when_a_step_schedule_is_over_within_the_first_steps():
    assert vanished_learning_rate.check(a_run(loss=2.3 + 0.01 * NOISE, lr=0.05 * 0.1 ** (np.arange(400) // 3)))


def test_is_an_error_when_the_rate_is_zero_throughout():
    [found] = vanished_learning_rate.check(a_run(loss=[2.3] * 100, lr=0.0))
    assert found.severity == Severity.ERROR


def test_stays_silent_when_the_loss_falls_at_a_rate_that_is_printed_as_zero():
    assert not vanished_learning_rate.check(a_run(loss=np.geomspace(2.3, 0.1, 400), lr=0.0))


def test_a_rate_of_few_digits_has_not_vanished_when_it_is_printed_as_zero():
    lines = (f"step {i} loss {2.3 - i / 200:.3f} lr {max(0.0, 4e-4 * (1 - i / 200)):.4f}" for i in range(400))
    run = to_run(read_lines(lines), "log")
    assert (run.series("lr").values == 0.0).sum() > 200
    assert not vanished_learning_rate.check(run)


def test_stays_silent_when_a_cosine_ends_with_the_run():
    lr = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(400) / 400))
    assert not vanished_learning_rate.check(a_run(loss=np.geomspace(2.3, 0.1, 400), lr=lr))


def test_stays_silent_on_the_usual_step_schedule():
    lr = 0.1 * 0.1 ** (np.arange(400) // 100)
    assert not vanished_learning_rate.check(a_run(loss=np.geomspace(2.3, 0.1, 400), lr=lr))


def test_stays_silent_when_the_rate_follows_a_loss_that_had_stopped_falling():
    lr = np.r_[np.full(200, 1e-3), 1e-4 * 0.1 ** (np.arange(200) // 20)]
    loss = np.r_[np.geomspace(2.3, 0.3, 80), np.full(320, 0.3)] + 0.02 * NOISE
    assert not vanished_learning_rate.check(a_run(loss=loss, lr=lr))


def test_leaves_a_smooth_schedule_that_ended_to_schedule_ended_early():
    lr = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.minimum(np.arange(400) / 130, 1)))
    assert not vanished_learning_rate.check(a_run(loss=FALLING, lr=lr))


def test_stays_silent_on_a_constant_rate():
    assert not vanished_learning_rate.check(a_run(loss=FALLING, lr=1e-3))


def test_says_so_when_there_is_too_little_to_see():
    assert isinstance(vanished_learning_rate.examine(a_run(loss=[2.3] * 5, lr=0.0)), NotExamined)


def loaded(rate, asked=2e-3, before=150, loss=2.3):
    config = {"optimizers": [{"name": "Adam", "lr": asked}], "optimizer_steps_before": before}
    return vanished_learning_rate.check(a_run(loss=loss, lr=[rate] * 200, config=config))


@pytest.mark.parametrize(("rate", "speaks"), [(1.9e-5, True), (2.1e-5, False)])
def test_speaks_of_a_rate_that_a_loaded_state_brought_along(rate, speaks):
    found = loaded(rate, loss=[2.3, 2.31] * 100)
    assert ["load_state_dict" in each.try_[0] for each in found] == [True] * speaks


def test_lets_a_low_rate_be_that_was_asked_for_or_that_still_teaches():
    assert not loaded(1e-6, asked=1e-6, loss=[2.3, 2.31] * 100)
    assert not loaded(1e-6, before=0, loss=[2.3, 2.31] * 100)
    assert not loaded(1e-6, loss=[2.3 - 0.005 * i for i in range(200)])


def hasty(factor=0.2, end=0.8, name="StepLR", **config):
    """Twelve epochs of fifty steps, the rate times `factor` after each; the loss stands still from the third on."""
    step = np.arange(600)
    noise = 0.05 * np.random.default_rng(0).standard_normal(600)
    loss = np.where(step < 60, 1.8 - (1.8 - end) * step / 60, end) + noise
    config = {"classes": 6, "schedulers": [{"name": name}]} | config
    return vanished_learning_rate.check(a_run(loss=loss, lr=1e-2 * factor ** (step // 50), config=config))


def test_speaks_of_a_rate_that_was_gone_before_anything_can_have_been_learned():
    [found] = hasty()
    assert "58 % of the run followed" in found.message


@pytest.mark.parametrize("other", [{"factor": 0.5}, {"end": 0.3}, {"name": "ReduceLROnPlateau"}, {"classes": 0}])
def test_lets_a_fast_decay_be_that_did_no_harm(other):
    assert not hasty(**other)
