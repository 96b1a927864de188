"""Healthy is earned: what a run must show, and what makes it unclear although no rule speaks."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.diagnosis.verdict import verdict
from bedside.finding import Differential, Experiment, Finding, Hypothesis, Severity
from bedside.record.run import Event
from bedside.record.series import Series
from bedside.testing import a_run

STEPS = 1000


def noisy(values, by=0.02, seed=0):
    values = np.asarray(values, float)
    return values * np.exp(by * np.random.default_rng(seed).standard_normal(len(values)))


def falling(first=2.3, last=0.2, steps=STEPS, by=0.02):
    return noisy(last + (first - last) * np.exp(-np.arange(steps) / (steps / 6)), by)


def judged(run, findings=(), asked=()):
    return verdict(run, findings, ["LOS101"], asked)


def test_a_run_that_learned_is_healthy_and_says_what_it_showed():
    said = judged(a_run(loss=falling(), val_loss=falling(steps=20), val_accuracy=np.linspace(0.3, 0.95, 20)))
    assert said.word == "healthy"
    assert said.reason.startswith("The loss went from 2.")
    assert "val/accuracy went from 0.3 to 0.9" in said.reason
    assert said.settled_by == ""


def test_a_training_loss_alone_can_earn_it():
    assert judged(a_run(loss=falling())).word == "healthy"


def test_evaluations_alone_can_earn_it():
    assert judged(a_run(steps=STEPS, val_loss=falling(steps=12))).word == "healthy"


def test_an_alarm_makes_it_sick_with_the_primary_message_as_the_reason():
    warning = Finding("AAA101", "a", Severity.WARNING, "First.", 0.9, 0, 9)
    error = Finding("BBB101", "b", Severity.ERROR, "Second.", 0.9, 0, 9, primary=True)
    said = judged(a_run(loss=falling()), [warning, error])
    assert (said.word, said.reason) == ("sick", "Second.")


def test_notes_leave_it_healthy():
    for preview in (True, False):
        note = Finding("AAA101", "a", Severity.NOTE, "Something.", 0.9, 0, 9).with_(preview=preview)
        assert judged(a_run(loss=falling()), [note]).word == "healthy"


def test_an_alarm_of_a_rule_on_trial_makes_it_unclear():
    alarm = Finding("AAA101", "a", Severity.WARNING, "Something.", 0.9, 0, 9, try_=("Do this.",), preview=True)
    said = judged(a_run(loss=falling()), [alarm])
    assert (said.word, said.reason, said.settled_by) == ("unclear", "A preview rule says: Something.", "Do this.")


# Five kinds of run that were once called healthy. Each must be unclear although no rule says anything.


def test_accuracy_at_chance_while_the_loss_falls():
    accuracy = noisy([0.1] * 20, 0.05)
    known = a_run(loss=falling(), val_accuracy=accuracy, config={"classes": 10})
    inferred = a_run(loss=falling(), val_accuracy=accuracy)
    for run in (known, inferred):
        said = judged(run)
        assert said.word == "unclear"
        assert "val/accuracy was never above 0.1" in said.reason
        assert "a blind guess has 0.1" in said.reason
        assert said.settled_by


def test_the_commonest_label_is_the_guess_where_labels_are_lopsided():
    run = a_run(loss=falling(0.7, 0.2), val_accuracy=noisy([0.9] * 20, 0.003), label_share_max=0.9)
    assert judged(run).word == "unclear"
    assert judged(a_run(loss=falling(0.7, 0.2), val_accuracy=noisy([0.9] * 20, 0.003))).word == "healthy"


def test_an_accuracy_that_rose_above_a_guess_is_none():
    rising = a_run(loss=falling(), val_accuracy=np.linspace(0.1, 0.6, 20), config={"classes": 10})
    many = a_run(loss=falling(6.9, 5.0), val_accuracy=np.linspace(0.001, 0.05, 20), config={"classes": 1000})
    assert judged(rising).word == judged(many).word == "healthy"


def test_validation_never_better_than_at_its_first_evaluation():
    said = judged(a_run(loss=falling(), val_loss=noisy(np.linspace(1.5, 1.7, 12))))
    assert said.word == "unclear"
    assert "never better than at its first evaluation" in said.reason


def test_an_evaluation_loss_that_came_down_by_more_than_its_noise_is_better_than_at_first():
    lower = np.r_[1.65, 1.45 + 0.03 * np.array([1, -1, 0.5, -0.6, 0.9, -0.8, 0.3, -0.2, 0.7, -0.9, 0.4])]
    assert judged(a_run(loss=falling(), val_loss=lower)).word == "healthy"
    barely = np.r_[1.55, lower[1:]]
    assert judged(a_run(loss=falling(), val_loss=barely)).word == "unclear"


def test_a_loss_in_units_of_its_own_is_no_guess_where_a_held_out_error_came_down():
    guess = {"loss": falling(1.6, 1.1), "config": {"target_variance": 0.3}}
    assert judged(a_run(**guess)).word == "unclear"
    assert judged(a_run(**guess, val_recon_error=np.geomspace(0.7, 0.15, 12))).word == "healthy"


def test_a_score_that_improves_excuses_a_validation_loss_that_does_not():
    run = a_run(loss=falling(), val_loss=noisy(np.linspace(0.5, 0.6, 12)), val_accuracy=np.linspace(0.7, 0.9, 12))
    assert judged(run).word == "healthy"


def test_a_validation_loss_below_training_has_nothing_to_catch_up():
    assert judged(a_run(loss=falling(), val_loss=noisy([0.1] * 12))).word == "healthy"


def test_a_loss_that_fell_by_next_to_nothing():
    said = judged(a_run(loss=2.5 * (1 - np.linspace(0, 3e-4, STEPS))))
    assert said.word == "unclear"
    assert "Nothing shows that it learned" in said.reason


def test_a_flat_loss_well_below_a_blind_guess_has_learned_before():
    flat = noisy([2.9] * STEPS, 0.01)
    assert judged(a_run(loss=flat, config={"vocab_size": 50257})).word == "healthy"
    assert judged(a_run(loss=flat)).word == "unclear"


def test_training_known_by_heart_with_validation_far_above_it():
    said = judged(a_run(loss=falling(2.3, 0.003, by=0.1), val_loss=noisy(np.linspace(2.4, 2.2, 12), 0.005)))
    assert said.word == "unclear"
    assert "known by heart" in said.reason


def test_a_small_gap_above_a_tiny_training_loss_is_no_gap():
    assert judged(a_run(loss=falling(2.3, 0.0008, by=0.1), val_loss=falling(1.0, 0.07, 12))).word == "healthy"


@pytest.mark.parametrize("end", [8.0, 3.0])
def test_a_run_that_ends_far_worse_than_its_best(end):
    curve = np.concatenate([falling(2.3, 0.1)[:600], noisy(0.1 * np.geomspace(1, end, 400))])
    said = judged(a_run(loss=curve))
    assert said.word == "unclear"
    assert "its best was 0.1" in said.reason


def test_a_run_near_its_best_is_not_lost():
    curve = np.concatenate([falling(2.3, 0.1)[:600], noisy(0.1 * np.geomspace(1, 1.4, 400))])
    assert judged(a_run(loss=curve)).word == "healthy"


def test_a_validation_score_that_falls_back_is_lost():
    accuracy = [*np.linspace(0.1, 0.9, 10), *np.linspace(0.9, 0.4, 10)]
    assert "val/accuracy ends at 0.4" in judged(a_run(loss=falling(), val_accuracy=accuracy)).reason


# What was not recorded.


def test_too_few_readings_are_unclear_and_say_how_many_it_takes():
    said = judged(a_run(loss=falling(steps=12)))
    assert (said.word, said.reason) == ("unclear", "Too little was recorded to judge: 12 readings of the loss.")
    assert "20 readings" in said.settled_by


def test_a_loss_that_was_logged_for_the_first_part_only_is_unclear():
    early = Series("loss", "", np.arange(100), falling(steps=100))
    said = judged(a_run(loss=early, lr=Series("lr", "", np.arange(1000), np.full(1000, 0.1))))
    assert said.word == "unclear"
    assert "step 99 of 999" in said.reason


def test_a_policy_loss_needs_a_score():
    loss = np.random.default_rng(0).standard_normal(STEPS)
    assert "not meant to fall" in judged(a_run(loss=loss, approx_kl=0.01)).reason
    assert "reward" in judged(a_run(loss=loss, approx_kl=0.01)).settled_by
    assert "distance" in judged(a_run(loss=loss, config={"objective": "score"})).settled_by
    rewarded = a_run(loss=loss, approx_kl=0.01, reward=noisy(np.linspace(0.1, 0.9, STEPS), 0.1))
    assert judged(rewarded).word == "healthy"


def test_a_loss_on_another_scale_than_the_guess_is_not_compared():
    assert judged(a_run(loss=falling(30000, 11000), config={"classes": 70})).word == "healthy"


def test_nothing_examined_is_unclear():
    assert verdict(a_run(loss=falling()), [], [], []).word == "unclear"


def test_a_monitor_that_stopped_is_unclear():
    said = judged(a_run(loss=falling(), events=[Event(70, "switched_off", {"all": True})]))
    assert (said.word, said.reason) == ("unclear", "bedside stopped watching at step 70.")


# Hypotheses and the verdict agree.


def question(weight, test):
    other = Hypothesis("fine", "all is well", 1 - weight, (), (), None)
    fault = Hypothesis("broken", "a broken thing", weight, ("a sign",), (), test)
    return Differential("Is it broken? Or not?", 0, tuple(sorted((fault, other), key=lambda each: -each.weight)))


EXPERIMENT = Experiment("try-it", "a minute", "Try it.", ())


def test_a_fault_more_likely_than_not_is_not_healthy():
    said = judged(a_run(loss=falling()), asked=[question(0.7, EXPERIMENT)])
    assert (said.word, said.settled_by) == ("unclear", "Try it.")
    assert "probably a broken thing (70 %)" in said.reason


def test_a_harmless_or_unlikely_answer_leaves_it_healthy():
    assert judged(a_run(loss=falling()), asked=[question(0.7, None)]).word == "healthy"
    assert judged(a_run(loss=falling()), asked=[question(0.4, EXPERIMENT)]).word == "healthy"


def test_a_training_loss_that_is_low_is_not_yet_known_by_heart():
    fall = np.geomspace(2.0, 0.06, 300)  # three hundredths of its start: known by heart
    held_out = np.r_[2.0, 1.6, np.full(10, 1.5)]
    assert judged(a_run(loss=fall, val_loss=held_out)).reason.startswith("The training data are known by heart")
    half_way = np.geomspace(2.0, 0.3, 300)
    assert "by heart" not in judged(a_run(loss=half_way, val_loss=held_out)).reason


def test_a_loss_that_came_down_to_label_frequencies_and_stays_has_learned_nothing_else():
    lopsided = {"classes": 2, "label_entropy": 0.2}
    down = np.r_[np.geomspace(0.7, 0.2, 60), np.full(240, 0.2)]
    assert "that of a blind guess (the entropy of the labels" in judged(a_run(loss=down, config=lopsided)).reason
    below = np.r_[np.geomspace(0.7, 0.2, 60), np.geomspace(0.2, 0.05, 200), np.full(40, 0.05)]
    assert "blind guess" not in judged(a_run(loss=below, config=lopsided)).reason


def test_a_sum_over_tokens_is_not_compared_with_a_blind_guess():
    known = {"classes": 10}
    assert "blind guess" not in judged(a_run(loss=np.geomspace(400, 60, 300), config=known)).reason
    assert "blind guess" in judged(a_run(loss=np.geomspace(20, 9, 300), config=known)).reason


def test_a_training_loss_that_hardly_fell_asks_nothing_of_validation():
    flat = np.linspace(1.9, 1.95, 12)
    assert "never better" not in judged(a_run(loss=noisy(np.linspace(2.0, 1.75, 400)), val_loss=flat)).reason
    assert "never better" in judged(a_run(loss=noisy(np.linspace(2.0, 1.2, 400)), val_loss=flat)).reason


def test_a_gap_of_a_third_is_not_called_learned_by_heart():
    known = np.geomspace(2.0, 0.02, 400)
    assert "by heart" not in judged(a_run(loss=known, val_loss=np.geomspace(2.0, 0.6, 12))).reason
    assert "by heart" in judged(a_run(loss=known, val_loss=np.geomspace(2.0, 1.4, 12))).reason


def test_a_learning_rate_that_only_ever_rose_leaves_it_open():
    rate = np.linspace(1e-6, 3e-4, STEPS)
    said = judged(a_run(loss=falling(), lr=rate))
    assert said.word == "unclear"
    assert "still rising" in said.reason
    assert "max_steps" in said.settled_by


def test_a_rise_within_a_known_plan_or_one_that_ended_leaves_it_healthy():
    rate = np.linspace(1e-6, 3e-4, STEPS)
    assert judged(a_run(loss=falling(), lr=rate, config={"max_steps": 100 * STEPS})).word == "healthy"
    assert judged(a_run(loss=falling(), lr=np.minimum(rate, 3e-5))).word == "healthy"


def test_a_training_loss_that_ends_above_its_start_leaves_it_open():
    accuracy = np.linspace(0.15, 0.32, 20)
    said = judged(a_run(loss=noisy(np.linspace(2.3, 2.6, STEPS), 0.1), val_accuracy=accuracy))
    assert said.word == "unclear"
    assert "above its first level" in said.reason
    assert judged(a_run(loss=falling(), val_accuracy=accuracy)).word == "healthy"


def test_a_last_batch_that_is_smaller_is_no_best_that_was_lost():
    loss = falling(2300.0, 1600.0, steps=360)
    loss[-1] = 700.0
    assert judged(a_run(loss=loss)).word == "healthy"


def test_epochs_that_won_next_to_nothing_at_once_and_nothing_since_leave_it_open():
    dead = np.r_[0.155, np.full(24, 0.146)] + 1e-6 * np.arange(25)
    said = judged(a_run(loss=dead, val_loss=dead - 0.004))
    assert said.word == "unclear"
    assert said.reason.startswith("The loss won only 6 %")
    slow = np.linspace(0.155, 0.143, 25)
    assert judged(a_run(loss=slow, val_loss=slow)).word == "healthy"


def test_a_share_of_explained_variance_that_is_never_above_zero_leaves_it_open():
    loss = np.linspace(29000, 13000, 60)
    assert judged(a_run(loss=loss, val_r2=np.linspace(-4.2, -1.2, 60))).word == "unclear"
    assert judged(a_run(loss=loss, val_r2=np.linspace(-4.2, 0.8, 60))).word == "healthy"


def test_a_code_that_carries_nothing_leaves_it_open():
    fall = 4.7 + 7 * np.exp(-np.arange(40) / 5)
    for left, word in ((1e-4, "unclear"), (6e-4, "unclear"), (2e-3, "healthy"), (0.8, "healthy")):
        parts = {"train/recon": fall, "train/kl": left + 0.03 * np.exp(-np.arange(40) / 5)}
        assert judged(a_run(loss=fall, val_loss=fall, **parts)).word == word
    assert judged(a_run(loss=fall, val_loss=fall, **{"train/kl": np.full(40, 1e-4)})).word == "healthy"


@pytest.mark.parametrize(("readings", "word"), [(9, "healthy"), (11, "unclear")])
def test_ten_epochs_are_enough_to_see_that_nothing_was_won_since_the_first(readings, word):
    run = a_run(val_loss=np.r_[0.155, np.full(readings - 1, 0.146)])
    run.axis = "epoch"
    assert judged(run).word == word


@pytest.mark.parametrize(("share", "word"), [(0.7, "unclear"), (0.9, "healthy")])
def test_a_loss_that_was_logged_for_four_fifths_of_the_run_covers_it(share, word):
    logged = int(share * STEPS)
    loss = Series("loss", "", np.arange(logged), falling(steps=logged))
    assert judged(a_run(loss=loss, lr=Series("lr", "", np.arange(STEPS), np.full(STEPS, 0.1)))).word == word


def test_epochs_that_won_a_third_at_once_have_learned():
    at_once = np.r_[0.3, np.full(24, 0.2)] + 1e-6 * np.arange(25)
    assert judged(a_run(loss=at_once, val_loss=at_once - 0.004)).word == "healthy"


@pytest.mark.parametrize(("late", "word"), [(0.05, "unclear"), (0.2, "healthy")])
def test_a_tenth_of_what_was_won_in_the_second_half_is_slow_and_less_is_dead(late, word):
    won = 0.009
    half = np.r_[0.155, np.full(12, 0.155 - (1 - late) * won), np.full(12, 0.155 - won)]
    assert judged(a_run(loss=half, val_loss=half)).word == word


@pytest.mark.parametrize(("readings", "word"), [(15, "healthy"), (25, "unclear")])
def test_a_learning_rate_of_a_few_readings_may_be_in_its_first_minutes(readings, word):
    rate = Series("lr", "", np.linspace(0, STEPS - 1, readings).astype(int), np.linspace(1e-6, 3e-4, readings))
    assert judged(a_run(loss=falling(), lr=rate)).word == word


def test_of_several_alarms_on_trial_the_surest_is_the_doubt():
    alarms = [
        Finding("AAA101", "a", Severity.WARNING, f"{said}.", sure, 0, 9, preview=True)
        for said, sure in (("One", 0.5), ("Two", 0.8), ("Three", 0.6))
    ]
    assert judged(a_run(loss=falling()), alarms).reason == "A preview rule says: Two."


def test_a_run_in_which_anything_improved_has_shown_that_it_learned():
    still = noisy([2.0] * STEPS, 0.001)
    assert judged(a_run(loss=still, val_accuracy=np.linspace(0.3, 0.6, 20))).word == "healthy"
    assert judged(a_run(loss=still, val_accuracy=noisy([0.3] * 20, 0.001))).word == "unclear"


@pytest.mark.parametrize(("last", "word"), [(0.67, "unclear"), (0.62, "healthy")])
def test_a_loss_that_began_as_a_guess_among_classes_nobody_named_must_come_clearly_below_it(last, word):
    val = np.linspace(0.692, last, 30)  # ln 2 is 0.693: a twentieth below is 0.658
    said = judged(
        a_run(loss=noisy(np.linspace(0.7, last - 0.01, 30)), val_loss=val, val_accuracy=np.linspace(0.53, 0.64, 30))
    )
    assert said.word == word
    assert ("among 2 classes" in said.reason) is (word == "unclear")


def test_an_accuracy_that_was_good_at_once_is_no_sign_of_guessing():
    val = np.linspace(0.7, 0.68, 30)  # a loss of another kind, at a number that looks familiar
    said = judged(a_run(loss=noisy(np.linspace(0.9, 0.5, 30)), val_loss=val, val_accuracy=np.linspace(0.9, 0.95, 30)))
    assert "guess" not in said.reason


def test_losses_of_players_are_named_where_there_is_no_total():
    said = judged(a_run(**{"part/d_loss": [0.7] * 30, "part/g_loss": [40.0] * 30}))
    assert said.word == "unclear"
    assert "d_loss, g_loss" in said.reason


@pytest.mark.parametrize(("late", "word"), [(0.0, "unclear"), (0.15, "healthy")])
def test_a_score_that_improved_before_the_loss_turned_does_not_excuse_its_rise(late, word):
    turn = np.abs(np.arange(30) - 6)
    val = 1.0 + 0.02 * turn + 0.02 * np.maximum(0, np.arange(30) - 6)
    score = np.concatenate([np.linspace(0.3, 0.7, 7), np.linspace(0.7, 0.7 + late, 23)])
    said = judged(a_run(loss=falling(1.6, 0.6), val_loss=val, val_accuracy=score))
    assert said.word == word
    assert ("val/loss ends at" in said.reason) is (word == "unclear")


def test_a_few_evaluations_are_counted_where_there_is_no_training_loss():
    assert "4 evaluations" in judged(a_run(steps=40, val_loss=[0.01, 0.02, 0.05, 0.1])).reason


def test_a_negative_loss_that_nobody_can_compare_with_a_guess_has_to_be_better_than_at_its_start():
    jumps = np.tile([-2.0, 40.0, -2.2, 700.0, -1.9, 20.0], 6)
    assert judged(a_run(steps=36, loss=jumps)).word == "unclear"


@pytest.mark.parametrize(("last", "word"), [(0.5, "unclear"), (0.56, "healthy")])
def test_an_accuracy_that_a_coin_would_have_is_none_whatever_the_loss_did(last, word):
    squares = np.linspace(0.35, 0.252, 10)
    score = np.r_[0.497, 0.508, 0.501, 0.503, 0.5, 0.496, 0.504, np.linspace(0.5, last, 3)]
    said = judged(a_run(loss=falling(1.7, 0.27), val_loss=squares, val_accuracy=score))
    assert said.word == word
    assert ("coin" in said.reason) is (word == "unclear")


@pytest.mark.parametrize(("end", "word"), [(14.0, "healthy"), (45.0, "unclear")])
def test_a_distance_of_what_a_generator_makes_says_how_it_goes(end, word):
    fid = np.r_[np.linspace(150, 14, 30), np.linspace(14, end, 30)]
    noise = np.random.default_rng(0).normal(0, 0.2, 60)
    players = {"part/loss_d": 0.9 + noise, "part/loss_g": 1.8 + noise}
    assert judged(a_run(steps=60, **players, **{"train/fid": fid + noise})).word == word


def test_single_batches_that_scatter_by_factors_show_what_was_learned_on_the_logarithm():
    rng = np.random.default_rng(3)
    loss = np.r_[np.full(34, 0.06), np.full(136, 0.015)] * np.exp(1.4 * rng.normal(size=170))
    assert judged(a_run(steps=170, loss=loss)).word == "healthy"


@pytest.mark.parametrize(
    ("last", "finished", "word"), [(1.2, True, "unclear"), (0.8, True, "healthy"), (1.2, None, "healthy")]
)
def test_a_run_that_ended_at_full_pace_far_from_anything_good_is_not_healthy_yet(last, finished, word):
    loss = np.linspace(2.3, last, 400) + 0.01 * np.random.default_rng(0).standard_normal(400)
    said = judged(a_run(loss=loss, relative_update_norm=3e-3, config={"classes": 10}, finished=finished))
    assert said.word == word
    assert word == "healthy" or "as fast as ever, at 1.2" in said.reason


def beside(network, **more):
    facts = {"linear": 0.08, "neighbours": 0.2, "guess": 0.9, "examples": 400, "asked": 64, "classes": 10}
    held_out = facts | {"carried_linear": 0.1, "carried_neighbours": 0.2}
    curves = {"loss": falling(), "fit_error": [0.9] * 20 + [network] * 20, "held_out_error": [0.9, network]}
    config = {"simple_models": facts | {"kept": 512}, "held_out_models": held_out} | more.pop("config", {})
    return judged(a_run(**(curves | more), config=config))


def test_a_network_behind_a_linear_model_is_not_called_healthy():
    said = beside(0.3)
    assert said.word == "unclear"
    assert "30 % wrong" in said.reason
    assert beside(0.12).word == "healthy"


def test_what_is_hard_in_training_alone_is_left_alone():
    assert beside(0.3, held_out_error=[0.9, 0.1]).word == "healthy"


def test_a_logged_accuracy_stands_in_where_the_held_out_answers_were_not_seen():
    unseen = {"config": {"held_out_models": None}, "held_out_error": []}
    assert beside(0.05, val_accuracy=[0.2, 0.4, 0.5, 0.6, 0.65, 0.65], **unseen).word == "unclear"
    assert beside(0.05, val_accuracy=[0.2, 0.4, 0.5, 0.8, 0.9, 0.93], **unseen).word == "healthy"


def test_a_run_that_ends_in_the_midst_of_learning_is_not_called_healthy():
    steady = noisy(np.linspace(2.3, 0.8, STEPS))
    run = a_run(loss=steady, val_loss=steady[49::50], finished=True)
    assert judged(run).word == "unclear"
    assert judged(run).reason.startswith("It ended in the midst of learning")
    assert judged(a_run(loss=falling(), val_loss=falling()[49::50], finished=True)).word == "healthy"
