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
    """0.07 against 0.0008 is no overfitting of a loss that began at 2.3."""
    training = np.concatenate([np.geomspace(2.3, 0.002, 200), np.geomspace(0.002, 0.0008, 200)])
    validation = [1.0, 0.4, 0.2, 0.1, *noisy([0.07] * 16, 0.001)]
    accuracy = [0.6, 0.8, 0.9, 0.95, *noisy([0.97] * 16, 0.001)]
    question = flat_validation(a_run(loss=training, val_loss=validation, val_accuracy=accuracy), [])
    assert question.heaviest.name == "normal-convergence"


def test_training_that_falls_while_validation_rises_is_overfitting():
    training = np.concatenate([np.geomspace(2.3, 1.0, 100), np.linspace(1.0, 0.05, 300)])
    validation = [2.0, 1.3, 1.2, 1.1, *noisy(np.linspace(1.1, 1.3, 16), 0.005)]
    assert flat_validation(a_run(loss=training, val_loss=validation), []).heaviest.name == "silent-overfitting"
