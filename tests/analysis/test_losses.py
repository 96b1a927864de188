from __future__ import annotations

import pytest

from bedside.analysis.losses import is_surrogate, meant_to_fall
from bedside.testing import a_run


@pytest.mark.parametrize(
    "name",
    ["reward", "reward_std", "train/avg_reward", "train/total_reward", "mean_reward", "rollout/ep_rew_mean", "rewards",
     "charts/episodic_return", "val/return", "episode_return", "train/critic_rewards_mean", "Epsilon",
     "losses/q_values",
     "part/value_loss", "approx_kl", "episode_length", "rollout/ep_len_mean"],
)  # fmt: skip
def test_rewards_and_exploration_are_signs_of_reinforcement_learning(name):
    assert is_surrogate(a_run(loss=[1.0] * 10, **{name: 1.0}))


@pytest.mark.parametrize(
    "name",
    ["train/rewards_chosen", "train/rewards_margins", "train/rewards_accuracies", "kl", "entropy", "val/accuracy",
     "daily_returns_mae", "val/score"],
)  # fmt: skip
def test_preference_learning_and_ordinary_metrics_are_none(name):
    assert not is_surrogate(a_run(loss=[1.0] * 10, **{name: 1.0}))


def test_what_the_user_says_about_the_loss_wins():
    assert not meant_to_fall(a_run(loss=[1.0] * 10, config={"loss_falls": False}))
    assert meant_to_fall(a_run(loss=[1.0] * 10, policy_loss=1.0, config={"loss_falls": True}))
    assert not meant_to_fall(a_run(loss=[1.0] * 10, policy_loss=1.0))
