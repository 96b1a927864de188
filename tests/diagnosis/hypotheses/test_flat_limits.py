"""Each limit of the question of 11 PM decides: what is called flat, and which signs are there on which side of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.diagnosis.hypotheses.flat_part import flat_part
from bedside.diagnosis.hypotheses.flat_validation import CAUSES, flat_validation
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG
from bedside.finding import Finding, Severity
from bedside.testing import a_run

TRAINING = np.geomspace(2.0, 1.0, 400)
WIGGLE = np.array([0.6, -1.1, 0.3, 1.4, -0.5, -0.9, 1.2, 0.2, -1.3, 0.8, -0.3, 0.1, 0.7, -0.6, 1.0, -1.2, 0.4, -0.1])


def asked(validation, **vitals):
    return flat_part(a_run(**{"loss": TRAINING, "val_loss": validation, **vitals}), [])


def flat_for(share, evaluations=40):
    """An evaluation that falls and is then flat for this share of the run."""
    flat = round(share * evaluations)
    return np.r_[np.linspace(2.0, 1.0, evaluations - flat), np.full(flat, 1.0)]


def test_a_third_of_the_run_without_a_better_evaluation_is_a_question_and_a_fifth_is_not():
    assert asked(flat_for(0.45)) is not None
    assert asked(flat_for(0.22)) is None


@pytest.mark.parametrize(("evaluations", "enough"), [(6, False), (7, True)])
def test_fewer_than_seven_evaluations_are_no_question(evaluations, enough):
    validation = np.r_[2.0, np.full(evaluations - 1, 1.0)]
    assert (asked(validation) is not None) is enough


@pytest.mark.parametrize(("name", "question"), [("diverging-loss", False), ("overfitting", True)])
def test_a_run_that_fell_apart_is_not_flat(name, question):
    found = Finding("XYZ101", name, Severity.ERROR, "It is so.", 0.9, 10, 20)
    assert (flat_part(a_run(loss=TRAINING, val_loss=flat_for(0.45)), [found]) is not None) is question


def test_a_gap_is_only_known_between_losses():
    loss, score = asked(flat_for(0.45)), flat_part(a_run(loss=TRAINING, val_accuracy=1 - 0.5 * flat_for(0.45)), [])
    assert loss.gap == pytest.approx(0.0, abs=0.01)
    assert math.isnan(score.gap)


@pytest.mark.parametrize(("rise", "flat"), [(0.2, True), (0.5, False)])
def test_a_rise_that_nobody_calls_flat_is_no_question(rise, flat):
    validation = np.r_[4.0, 1.0, 1.0, np.linspace(1.0, 1.0 + rise, 17)]
    assert (asked(validation) is not None) is flat


@pytest.mark.parametrize(("fall", "flat"), [(0.003, True), (0.02, False)])
def test_a_sure_and_slow_fall_is_flat_only_if_nobody_would_wait_for_it(fall, flat):
    validation = np.r_[3.0, 2.0, 1.5, np.linspace(1.0, 1.0 - fall, 30)]
    assert (asked(validation) is not None) is flat


@pytest.mark.parametrize(("fall", "flat"), [(0.0005, True), (0.0048, False)])
def test_where_little_was_won_at_all_a_small_part_of_that_is_a_gain(fall, flat):
    validation = np.r_[1.015, 1.01, 1.005, np.linspace(1.0, 1.0 - fall, 30)]
    assert (asked(validation) is not None) is flat


@pytest.mark.parametrize(("rises", "flat"), [(0.3, False), (0.1, True)])
def test_a_score_that_wins_a_fifth_of_what_was_left_shows_that_it_goes_on(rises, flat):
    score = np.r_[0.1, 0.3, 0.4, np.linspace(0.5, 0.5 + 0.5 * rises, 17)]
    assert (asked(np.r_[3.0, 2.0, 1.5, np.full(17, 1.0)], val_accuracy=score) is not None) is flat


def test_a_score_that_rose_by_chance_does_not():
    score = np.r_[0.1, 0.3, 0.4, 0.5 + 0.15 * WIGGLE[:17] + np.linspace(0, 0.15, 17)]
    assert asked(np.r_[3.0, 2.0, 1.5, np.full(17, 1.0)], val_accuracy=score) is not None


@pytest.mark.parametrize(("dip", "since_start"), [(0.003, True), (0.04, False)])
def test_nothing_after_the_first_flat_evaluation_was_clearly_better_than_it(dip, since_start):
    """A curve that sinks and comes back is as high as before, and yet it had improved meanwhile."""
    bowl = np.r_[np.linspace(1.0, 1.0 - dip, 7), np.linspace(1.0 - dip, 1.0, 24)[1:]]
    facts = asked(np.r_[1.5, bowl])
    lowest = round((1 + 6) / 31 * 400)
    assert (facts.since < 40) is since_start
    assert facts.since <= lowest + 14  # one evaluation


@pytest.mark.parametrize(("wiggles", "since_start"), [(2.0, True), (6.0, False)])
def test_a_lucky_evaluation_within_the_noise_does_not_count_as_better(wiggles, since_start):
    validation = np.r_[2.0, 1.5, 1.0, 1.0 + 0.01 * WIGGLE]
    validation[[6, 12]] = 1.0 - 0.01 * wiggles
    facts = asked(validation)
    assert (facts.since < 90) is since_start


# Signs. Training falls from 2.0 to `level` at evaluation 5 of 20, and by `falls` of 2.0 from there on.
ACROSS = np.arange(400)


def run_with(level=1.0, falls=0.0, gap=0.07, first=1.9, **vitals):
    """Validation goes from `first` to `gap` (of 2.0) above the last training loss."""
    training = np.r_[np.linspace(2.0, level, 100), np.linspace(level, level - 2.0 * falls, 300)]
    resting = level - 2.0 * falls + 2.0 * gap
    validation = np.r_[np.linspace(first, resting, 5), resting + 1e-4 * WIGGLE[:15]]
    return a_run(**{"loss": training, "val_loss": validation, **vitals})


def signs(run, *found):
    facts = flat_part(run, found)
    assert facts is not None
    return [(cause.name, sign.odds, sign.text) for cause in CAUSES for sign in cause.signs(facts)]


def shown(every, cause, odds, phrase):
    return any(each[0] == cause and each[1] == pytest.approx(odds, rel=0.02) and phrase in each[2] for each in every)


def rate(then):
    """A learning rate that went to this share of its peak at an eighth of the run, before validation went flat."""
    return {"lr": np.where(ACROSS < 50, 1e-3, then * 1e-3)}


def gradient(now, since=80):
    return {"grad_norm": np.where(since > ACROSS, 1.0, now)}


def update(size):
    return {"relative_update_norm": size}


def score(level):
    return {"val_accuracy": np.full(20, level)}


def repeating(times, **vitals):
    resting = 1.14 + 1e-4 * WIGGLE[:15]
    resting[-times:] = 1.1412345
    return {"val_loss": np.r_[np.linspace(1.9, 1.14, 5), resting], **vitals}


def passes(count):
    return {"epoch": np.linspace(0, count, 400)}


SIGNS = {
    "training falls": ("silent-overfitting", STRONG, "went on falling", {"falls": 0.35}, {"falls": 0.15}),
    "training falls a little": (
        "normal-convergence",
        -STRONG * 0.15 / 0.3,
        "went on falling",
        {"falls": 0.15},
        {"falls": 0.03},
    ),
    "training falls, a plateau": ("plateau", -STRONG, "went on falling", {"falls": 0.35}, {"falls": 0.15}),
    "training is flat, a plateau": ("plateau", HINT, "is flat too", {"falls": 0.03}, {"falls": 0.07}),
    "training is flat": ("normal-convergence", STRONG, "is flat too", {"falls": 0.03}, {"falls": 0.07}),
    "nowhere to fall": ("normal-convergence", STRONG, "is flat too", {"gap": 0.08}, {"gap": 0.12}),
    "far above": ("silent-overfitting", STRONG, "far above training", {"gap": 0.35}, {"gap": 0.25}),
    "above": ("silent-overfitting", HINT, "far above training", {"gap": 0.12}, {"gap": 0.08}),
    "hardly above": ("silent-overfitting", -STRONG, "hardly above training", {"gap": 0.03}, {"gap": 0.07}),
    "most was won": ("normal-convergence", STRONG / 2, "was won", {"first": 3.0}, {"first": 2.0}),
    "most was won, a plateau": ("plateau", -STRONG / 2, "was won", {"first": 3.0}, {"first": 2.0}),
    "little was won": ("plateau", HINT / 2, "only", {"first": 1.35}, {"first": 1.6}),
    "a good score": ("normal-convergence", STRONG, "val/accuracy is", score(0.93), score(0.85)),
    "a rate nearly gone": ("learning-rate-gone", HINT, "was 5 % of its peak", rate(0.05), rate(0.005)),
    "a rate gone": ("learning-rate-gone", STRONG, "of its peak", rate(0.005), rate(0.05)),
    "a rate still there": ("learning-rate-gone", -STRONG, "of its peak", rate(0.2), rate(0.05)),
    "flat though it moved": ("normal-convergence", HINT, "went flat though", rate(0.2), rate(0.05)),
    "flat when it went": ("normal-convergence", -HINT, "went flat when", rate(0.005), rate(0.05)),
    "a plateau with a rate": ("plateau", HINT, "was still", rate(0.2), rate(0.05)),
    "a plateau without": ("plateau", -STRONG, "no step could lead away", rate(0.005), rate(0.05)),
    "a plateau with little": ("plateau", -HINT, "no step could lead away", rate(0.05), rate(0.2)),
    "a faded gradient": ("plateau", HINT, "the gradient faded", gradient(0.005), gradient(0.05)),
    "a gradient that stays": ("plateau", -HINT, "still there", gradient(0.4), gradient(0.2)),
    "tiny updates": ("learning-rate-gone", STRONG, "a step changes the weights by", update(5e-7), update(3e-6)),
    "real updates": ("learning-rate-gone", -HINT, "still changes", update(3e-5), update(6e-6)),
    "repeats": ("broken-evaluation", DECISIVE, "equal to the last digit", repeating(3), repeating(2)),
    "repeats, converged": ("normal-convergence", -DECISIVE, "equal to the last digit", repeating(3), repeating(2)),
    "repeats, by heart": ("silent-overfitting", -STRONG, "equal to the last digit", repeating(3), repeating(2)),
    "repeats, a plateau": (
        "plateau",
        -STRONG,
        "while training moves",
        repeating(3, loss=np.linspace(2.0, 1.0, 400)),
        repeating(3, loss=np.r_[np.linspace(2.0, 1.0, 100), np.full(300, 1.0)]),
    ),
    "no repeats": ("broken-evaluation", -STRONG, "no two evaluations", {}, repeating(3)),
    "moved on alone": ("broken-evaluation", HINT, "neither up nor down", {"falls": 0.07}, {"falls": 0.03}),
    "rests like training": ("broken-evaluation", -HINT, "is flat too", {"falls": 0.03}, {"falls": 0.07}),
    "seen once": ("silent-overfitting", -STRONG, "seen only once", passes(1.2), passes(1.8)),
    "seen often": ("silent-overfitting", HINT / 2, "seen 4 times", passes(4), passes(2)),
    "does not get worse": ("silent-overfitting", -HINT, "does not get worse", {}, {"rises": True}),
}
RISES = np.r_[1.9, 1.6, 1.4, 1.2, np.linspace(1.0, 1.15, 16)]


def with_these(vitals):
    return a_run(loss=TRAINING, val_loss=RISES) if vitals.get("rises") else run_with(**vitals)


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_of_a_flat_validation_depends_on_its_limit(name):
    *sign, there, absent = SIGNS[name]
    assert shown(signs(with_these(there)), *sign)
    assert not shown(signs(with_these(absent)), *sign)


def test_a_validation_that_gets_worse_speaks_of_learning_by_heart():
    every = signs(with_these({"rises": True}))
    assert shown(every, "silent-overfitting", STRONG, "validation gets worse")
    assert shown(every, "normal-convergence", -HINT, "validation gets worse")


@pytest.mark.parametrize(("lost", "kept"), [(0.02, True), (0.08, False)])
def test_a_score_as_good_as_ever_speaks_against_learning_by_heart(lost, kept):
    accuracy = np.r_[0.4, 0.6, 0.8, np.full(14, 0.9), np.full(3, 0.9 - lost)]
    every = signs(a_run(loss=TRAINING, val_loss=RISES, val_accuracy=accuracy))
    assert shown(every, "silent-overfitting", -STRONG, "as good as ever") is kept


def test_seven_losses_before_the_rate_went_tell_whether_it_was_still_falling():
    loss = np.r_[np.linspace(2.0, 1.0, 100), np.full(300, 1.0)]
    for readings, tells in ((6, False), (8, True)):
        few = {"lr": np.where(readings > ACROSS, 1e-3, 1e-6), "loss": loss}
        assert any("when the learning rate went" in text for *_, text in signs(run_with(**few))) is tells


def test_a_loss_that_is_constant_explains_an_evaluation_that_is():
    constant = Finding("LOS105", "constant-loss", Severity.WARNING, "It is so.", 0.9, 0, 399)
    assert shown(signs(run_with(), constant), "broken-evaluation", -DECISIVE, "validation is right to be constant")


def test_the_level_of_a_blind_guess_counts_in_full_only_where_the_classes_are_known():
    level = math.log(10)
    resting = np.r_[np.linspace(2.9, level, 5), level + 1e-5 * WIGGLE[:15]]
    guess = {"loss": np.full(400, level), "val_loss": resting}
    assert shown(signs(a_run(**guess, config={"classes": 10})), "plateau", STRONG, "that of a blind guess")
    assert shown(signs(a_run(**guess)), "plateau", STRONG / 2, "that of a blind guess")
    assert shown(signs(a_run(**guess)), "normal-convergence", -STRONG / 2, "that of a blind guess")


def test_the_question_says_for_how_much_of_the_run():
    question = flat_validation(run_with(), [])
    assert question.question.startswith("val/loss has not improved since step")
    assert "for 79 % of the run" in question.question
