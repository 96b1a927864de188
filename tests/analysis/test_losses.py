from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.losses import (
    called,
    held_out_scores,
    is_reward,
    is_surrogate,
    judged_loss,
    loss_to_fall,
    meant_to_fall,
    rewards,
    training_loss_to_fall,
    validation_losses,
    validation_metrics,
)
from bedside.errors import NotEnough
from bedside.record.run import Event
from bedside.record.series import Series
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


def vitals(series):
    return [each.vital for each in series]


HELD_OUT = {"val/loss": 1.0, "val/accuracy": 0.5, "val/bleu": 20.0, "val/whatever": 3.0, "train/reward": 1.0}


def test_what_is_held_out_is_a_loss_a_metric_of_known_direction_or_neither():
    run = a_run(loss=2.0, **HELD_OUT)
    assert vitals(validation_losses(run)) == ["val/loss"]
    assert vitals(validation_metrics(run)) == ["val/accuracy", "val/bleu"]
    assert vitals(rewards(run)) == ["train/reward"]


def test_the_losses_of_evaluation_sets_stand_for_their_mean():
    run = a_run(**{"val/loss": {"": 1.0, "easy": 0.5, "hard": 1.5}})
    assert [each.owner for each in validation_losses(run)] == ["easy", "hard"]


def test_losses_under_names_of_their_own_count_where_there_is_no_other():
    assert vitals(validation_losses(a_run(**{"val/recon_loss": 1.0, "val/kl_loss": 2.0}))) == [
        "val/recon_loss",
        "val/kl_loss",
    ]
    assert vitals(validation_losses(a_run(**{"val/recon_loss": 1.0, "val/loss": 2.0}))) == ["val/loss"]


def test_the_score_of_a_generator_is_held_out_too():
    assert vitals(held_out_scores(a_run(fid=30.0, **HELD_OUT))) == ["val/accuracy", "val/bleu", "fid"]


@pytest.mark.parametrize(("readings", "judged"), [(9, "val/loss"), (10, "loss")])
def test_a_few_readings_of_training_beside_more_evaluations_are_no_curve(readings, judged):
    run = a_run(steps=600, loss=np.full(readings, 1.0), val_loss=np.full(30, 1.0))
    assert judged_loss(run).vital == judged


@pytest.mark.parametrize(("until", "judged"), [(200, "val/loss"), (400, "loss")])
def test_a_training_loss_that_was_only_printed_at_the_start_is_not_judged(until, judged):
    training = Series("loss", "", np.arange(until), np.ones(until))
    assert judged_loss(a_run(steps=600, loss=training, val_loss=np.full(30, 1.0))).vital == judged


def test_without_a_finite_loss_there_is_nothing_to_judge():
    assert judged_loss(a_run(loss=[np.nan] * 20, val_loss=np.full(20, 1.0))).vital == "val/loss"
    with pytest.raises(NotEnough, match="loss or val/loss"):
        judged_loss(a_run(loss=[np.nan] * 20))


def test_a_loss_that_should_fall_needs_so_many_finite_readings():
    run = a_run(loss=[1.0] * 19 + [np.nan])
    assert len(loss_to_fall(run, 19)) == 19
    with pytest.raises(NotEnough, match="20 readings of loss, has 19"):
        loss_to_fall(run, 20)
    with pytest.raises(NotEnough, match="loss"):
        training_loss_to_fall(a_run(val_loss=[1.0] * 30), 5)


def test_two_players_with_a_loss_each_need_not_fall():
    game = a_run(loss={"": [1.0] * 30, "g": [1.0] * 30, "d": [1.0] * 30})
    assert not meant_to_fall(game)
    with pytest.raises(NotEnough, match="players"):
        loss_to_fall(game, 5)


@pytest.mark.parametrize(("loss", "surrogate"), [([-0.5] * 20, True), ([0.5] * 20, False)])
def test_a_share_of_tasks_done_beside_a_loss_of_either_sign_is_reinforcement_learning(loss, surrogate):
    assert is_surrogate(a_run(loss=loss, success_rate=0.5)) is surrogate
    assert not is_surrogate(a_run(loss=[-0.5] * 20))


@pytest.mark.parametrize(("name", "reward"), [("train/avg reward", True), ("win_rate", True), ("val/accuracy", False)])
def test_a_reward_is_what_an_agent_gets_or_has_done(name, reward):
    assert is_reward(name) is reward


def test_a_sentence_calls_the_training_loss_by_its_name_alone():
    run = a_run(**{"loss": {"": [1.0], "g": [1.0]}, "val/loss": 1.0})
    assert [called(run.series(*key)) for key in run.series_keys] == ["loss", "loss", "val/loss"]


def test_a_generator_whose_critic_learns_as_well_has_no_loss_that_should_fall():
    critic = Event(0, "foreign_leaves", {"names": [], "size": 10_945, "model_size": 18_048})
    wants = {"function": "binary_cross_entropy_with_logits", "least": 0.9, "most": 0.9}
    asks = Event(0, "target_range", wants)
    assert not meant_to_fall(a_run(loss=[0.7, 0.8], events=[critic, asks]))
    assert meant_to_fall(a_run(loss=[0.7, 0.8], events=[asks]))
    for other in ({"names": ["blocks[0].weight"]}, {"size": 1_000}):  # layers in a list, and a temperature
        part = Event(0, "foreign_leaves", {**critic.data, **other})
        assert meant_to_fall(a_run(loss=[0.7, 0.8], events=[part, asks]))
    either = Event(0, "target_range", wants | {"least": 0.0})
    assert meant_to_fall(a_run(loss=[0.7, 0.8], events=[critic, asks, either]))
