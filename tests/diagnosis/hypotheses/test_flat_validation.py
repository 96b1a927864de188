"""The question of 11 PM is asked only where validation is flat, by the noise of that very stretch."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.diagnosis.hypotheses.flat_validation import flat_validation
from bedside.finding import Finding, Severity
from bedside.testing import a_run


def noisy(values, by=0.01, seed=0):
    values = np.asarray(values, float)
    return values + by * np.random.default_rng(seed).standard_normal(len(values))


TRAINING = noisy(np.geomspace(2.3, 0.3, 400), 0.01)
CONVERGED = [2.0, 1.2, 0.8, 0.6, *noisy([0.5] * 16, 0.005)]


def alarm(name, **rest):
    return Finding("XXX101", name, Severity.WARNING, "It is so.", 0.9, 0, 399, primary=True, **rest)


def test_a_flat_validation_is_asked_about_since_it_went_flat():
    question = flat_validation(a_run(loss=TRAINING, val_loss=CONVERGED), [])
    assert "has not improved since step" in question.question
    assert 60 <= question.first_step <= 120  # the fourth to the sixth of twenty evaluations


@pytest.mark.parametrize("seed", range(10))
def test_a_curve_that_halves_is_not_flat_whatever_its_steep_start(seed):
    """0.555 to 0.271 was once called flat, because the noise was that of the start."""
    falling = [2.2, 1.1, 0.8, *noisy(np.geomspace(0.555, 0.271, 15), 0.02, seed)]
    assert flat_validation(a_run(loss=TRAINING, val_loss=falling), []) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_fall_beneath_the_noise_of_one_evaluation_is_not_flat(seed):
    falling = noisy(np.linspace(1.0, 0.8, 30), 0.03, seed)
    assert flat_validation(a_run(loss=TRAINING, val_loss=falling), []) is None


def test_a_score_that_goes_on_rising_means_that_it_goes_on_learning():
    rising = noisy(np.linspace(0.5, 0.9, 20), 0.005)
    assert flat_validation(a_run(loss=TRAINING, val_loss=CONVERGED, val_accuracy=rising), []) is None
    resting = noisy([0.9] * 20, 0.005)
    assert flat_validation(a_run(loss=TRAINING, val_loss=CONVERGED, val_accuracy=resting), []) is not None


def test_six_evaluations_are_too_few_to_call_anything_flat():
    assert flat_validation(a_run(loss=TRAINING, val_loss=[1.0, 0.5, 0.5, 0.5, 0.5, 0.5]), []) is None


def test_a_run_with_another_fault_is_not_asked_whether_it_converged():
    assert flat_validation(a_run(loss=TRAINING, val_loss=CONVERGED), [alarm("bad-batch")]) is None


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        ("frozen-validation", "broken-evaluation"),
        ("overfitting", "silent-overfitting"),
        ("schedule-ended-early", "learning-rate-gone"),
        ("vanishing-gradient", "plateau"),
    ],
)
def test_a_cause_that_a_rule_has_found_weighs_most(found, cause):
    question = flat_validation(a_run(loss=TRAINING, val_loss=CONVERGED), [alarm(found)])
    assert question.heaviest.name == cause
    assert question.heaviest.weight > 0.9


def test_a_small_gap_on_the_scale_of_the_first_loss_is_convergence():
    """0.07 against 0.0008 is not an overfitting of a loss that began at 2.3."""
    training = np.concatenate([np.geomspace(2.3, 0.002, 200), np.geomspace(0.002, 0.0008, 200)])
    validation = [1.0, 0.4, 0.2, 0.1, *noisy([0.07] * 16, 0.001)]
    accuracy = [0.6, 0.8, 0.9, 0.95, *noisy([0.97] * 16, 0.001)]
    question = flat_validation(a_run(loss=training, val_loss=validation, val_accuracy=accuracy), [])
    assert question.heaviest.name == "normal-convergence"


def test_training_that_falls_while_validation_rises_is_overfitting():
    training = np.concatenate([np.geomspace(2.3, 1.0, 100), np.linspace(1.0, 0.05, 300)])
    validation = [2.0, 1.3, 1.2, 1.1, *noisy(np.linspace(1.1, 1.3, 16), 0.005)]
    assert flat_validation(a_run(loss=training, val_loss=validation), []).heaviest.name == "silent-overfitting"


def answer(name, **vitals):
    """One cause of a flat validation, with what speaks for and against it."""
    question = flat_validation(a_run(**{"loss": TRAINING, "val_loss": CONVERGED, **vitals}), [])
    return next(each for each in question.hypotheses if each.name == name)


REPEATED = [2.0, 1.2, 0.8, 0.6, *[0.5123456789] * 16]
STEPPED = [1e-3] * 40 + [1e-7] * 360  # the learning rate goes before validation is flat


def test_evaluations_that_repeat_while_training_falls_speak_of_a_broken_evaluation_alone():
    repeats = "16 evaluations in a row are equal to the last digit"
    assert repeats in answer("broken-evaluation", val_loss=REPEATED).speaks_for
    for other in ("normal-convergence", "silent-overfitting"):
        assert repeats in answer(other, val_loss=REPEATED).speaks_against
    assert any("repeat to the last digit while" in each for each in answer("plateau", val_loss=REPEATED).speaks_against)


def test_evaluations_that_repeat_because_nothing_moves_are_not_broken():
    still = [*np.geomspace(2.3, 0.5, 60), *[0.5] * 340]
    against = answer("broken-evaluation", loss=still, val_loss=REPEATED, lr=STEPPED).speaks_against
    assert "evaluations repeat to the last digit, but the weights no longer move either" in against


def test_a_learning_rate_that_went_first_speaks_for_itself_and_against_a_plateau():
    gone = answer("learning-rate-gone", lr=STEPPED)
    assert any("it went flat when the learning rate was" in each for each in gone.speaks_for)
    assert "the training loss was still falling when the learning rate went" in gone.speaks_for
    assert any("no step could lead away" in each for each in answer("plateau", lr=STEPPED).speaks_against)


def test_a_training_loss_that_was_flat_before_the_rate_went_clears_the_rate():
    flat = noisy([2.3] * 400, 0.01)
    gone = answer("learning-rate-gone", loss=flat, lr=STEPPED)
    assert "the training loss was flat before the learning rate went" in gone.speaks_against


def test_a_learning_rate_that_was_there_speaks_against_its_loss():
    assert any("while the learning rate was" in each for each in answer("learning-rate-gone", lr=1e-3).speaks_against)
    assert any("was still" in each for each in answer("plateau", lr=1e-3).speaks_for)
    assert any("though the learning rate was" in each for each in answer("normal-convergence", lr=1e-3).speaks_for)


@pytest.mark.parametrize(("update", "side"), [(1e-8, "speaks_for"), (1e-3, "speaks_against")])
def test_the_size_of_an_update_tells_whether_the_learning_rate_is_gone(update, side):
    signs = getattr(answer("learning-rate-gone", relative_update_norm=update), side)
    assert any("changes the weights by" in each for each in signs)


def test_a_gradient_that_is_still_there_speaks_against_a_plateau():
    assert any("the gradient is still there" in each for each in answer("plateau", grad_norm=1.0).speaks_against)


@pytest.mark.parametrize(("passes", "side"), [(1, "speaks_against"), (5, "speaks_for")])
def test_data_seen_once_cannot_be_learned_by_heart(passes, side):
    signs = getattr(answer("silent-overfitting", epoch=np.linspace(0, passes, 400)), side)
    assert any("the training data were seen" in each for each in signs)


def test_a_level_of_a_blind_guess_speaks_for_a_plateau():
    blind = [2.5, 2.4, 2.35, 2.31, *noisy([np.log(10)] * 16, 0.001)]
    run = {"loss": noisy([2.3026] * 400, 0.001), "val_loss": blind, "config": {"num_classes": 10}}
    assert any("blind guess" in each for each in answer("plateau", **run).speaks_for)
    assert any("blind guess" in each for each in answer("normal-convergence", **run).speaks_against)


def test_does_not_ask_where_no_training_loss_tells_what_went_on_meanwhile():
    flat = {"loss": [1.0 - 0.004 * i for i in range(200)], "val_loss": [0.6, 0.5] + [0.42, 0.421] * 12}
    assert flat_validation(a_run(**flat), []) is not None
    assert flat_validation(a_run(**flat, config={"loss_falls": False}), []) is None


DRIFTING = [0.4, 0.37, 0.34, 0.31, 0.28, 0.26, *np.linspace(0.255, 0.335, 14)]


def drifting(score):
    """Training falls and the validation loss creeps up, while a held-out score is this."""
    training = np.concatenate([np.linspace(0.52, 0.15, 120), np.linspace(0.15, 0.02, 280)])
    return flat_validation(a_run(loss=training, val_loss=DRIFTING, val_accuracy=score), [])


def test_is_not_asked_where_a_score_won_a_fifth_of_its_gain_while_the_loss_was_flat():
    early = [0.8, 0.82, 0.84, 0.86, 0.87, 0.88]
    assert drifting([*early, *np.linspace(0.882, 0.915, 14)]) is None
    assert drifting([*early, *[0.882, 0.881] * 7]) is not None


@pytest.mark.parametrize(("last", "kept"), [(0.939, True), (0.922, False)])
def test_one_answer_less_of_a_small_set_leaves_a_score_as_good_as_ever(last, kept):
    score = [0.939, 0.939, 0.947, 0.9303, *[0.939] * 12, *[last] * 4]
    overfitting = next(each for each in drifting(score).hypotheses if each.name == "silent-overfitting")
    assert any("as good as ever" in each for each in overfitting.speaks_against) is kept
