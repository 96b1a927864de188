import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.stuck_reward import stuck_reward
from bedside.testing import a_run


def run(reward, steps=500, name="train/mean_reward", **more):
    return a_run(loss=[0.5] * steps, **{name: list(reward)}, **more)


@pytest.mark.parametrize(("gained", "speaks"), [(0.099, True), (0.12, False)])
def test_speaks_when_the_reward_has_hardly_risen(gained, speaks):
    assert bool(stuck_reward.check(run([1.0] * 5 + [1.0 + gained] * 15))) is speaks


@pytest.mark.parametrize(("sigmas", "speaks"), [(0.0, True), (8.0, False)])
def test_speaks_within_the_noise_of_the_reward(sigmas, speaks):
    noise = np.random.default_rng(0).normal(5, 1, 60) - np.arange(60) / 30
    assert bool(stuck_reward.check(run(noise + sigmas * (np.arange(60) > 20)))) is speaks


def test_stays_silent_when_it_rose_and_fell_again_which_is_another_fault():
    assert not stuck_reward.check(run([1.0] * 5 + [5.0] * 8 + [1.0] * 8))


def test_stays_silent_when_any_of_the_rewards_rose():
    assert not stuck_reward.check(run([1.0] * 20, val_mean_reward=list(np.linspace(0, 5, 20))))


@pytest.mark.parametrize(("share", "speaks"), [(0.89, True), (0.91, False)])
def test_lets_a_success_rate_be_that_has_nothing_to_win(share, speaks):
    assert bool(stuck_reward.check(run([share] * 20, name="train/success_rate"))) is speaks


@pytest.mark.parametrize("short", [run([1.0] * 14), run([1.0] * 15, steps=199), a_run(loss=[1.0] * 500)])
def test_needs_readings_and_steps(short):
    assert isinstance(stuck_reward.examine(short), NotExamined)


@pytest.mark.parametrize(("level", "speaks"), [(3.0, True), (0.3, False)])
def test_does_not_judge_a_reward_that_may_have_doubled_unseen(level, speaks):
    falls = np.linspace(0.5, -0.5, 60) + np.tile([1.0, -1.0, 0.0], 20)
    assert bool(stuck_reward.check(run(level + falls))) is speaks


@pytest.mark.parametrize(("last", "speaks"), [(-79.4, False), (-85.2, True)])
def test_a_reward_that_rises_to_its_best_at_the_end_is_not_stuck(last, speaks):
    early = [-84.8, -84.2, -82.5, -81.7, -81.6, -83.8, -84.4, -85.3, -85.5, -84.2, -84.3, -84.2]
    reward = [*early, *np.linspace(-85.3, last, 13)]
    assert bool(stuck_reward.check(a_run(loss=[50.0] * 5000, **{"train/mean_reward": reward}))) is speaks


def test_the_luckiest_of_many_noisy_readings_is_no_rise():
    noise = np.random.default_rng(3).normal(0, 0.06, 300)
    assert stuck_reward.check(run(0.13 + noise))
    assert not stuck_reward.check(run(0.13 + noise + 0.1 * (np.arange(300) > 150)))
    assert not stuck_reward.check(run(np.minimum(0.13 + noise + 0.02 * np.arange(300), 0.9)))
