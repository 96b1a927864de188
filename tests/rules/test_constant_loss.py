from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.constant_loss import constant_loss
from bedside.testing import a_run


def test_speaks_when_every_step_has_the_same_loss():
    (finding,) = constant_loss.check(a_run(loss=[2.302585] * 50))
    assert finding.first_step == 0
    assert finding.evidence["from_start"]


def test_speaks_when_the_loss_freezes_on_the_way():
    (finding,) = constant_loss.check(a_run(loss=[*np.linspace(2, 1, 40), *[0.987654] * 40]))
    assert finding.first_step == 40


def test_speaks_when_the_loss_is_zero_from_the_start():
    (finding,) = constant_loss.check(a_run(loss=[0.0] * 30))
    assert "NaN" in finding.could_also_be[0]


@pytest.mark.parametrize(
    "vitals",
    [
        {"loss": np.random.default_rng(0).normal(2.3, 0.01, 100)},
        {"loss": [*np.linspace(1, 0.01, 40), *[0.0] * 40]},
        {"loss": [*np.linspace(1, 0.001, 40), *[0.0002] * 40]},
        {"loss": [*np.linspace(1, 0.7, 40), *[0.693] * 12]},
        {"loss": [*np.linspace(1, 0.5, 40), *[0.491234] * 40], "lr": [0.1] * 40 + [0.0] * 40},
    ],
    ids=["noise", "hinge at zero", "rounded to one digit", "rounded plateau", "learning rate is zero"],
)
def test_stays_silent_where_equality_has_a_reason(vitals):
    assert constant_loss.check(a_run(**vitals)) == []


def test_does_not_judge_a_surrogate_or_a_few_readings():
    assert isinstance(constant_loss.examine(a_run(loss=[0.0] * 30, reward=1.0)), NotExamined)
    assert isinstance(constant_loss.examine(a_run(loss=[0.5] * 3)), NotExamined)


def test_speaks_of_four_equal_digits_from_the_start():
    wobbling = 4.6052 + 1e-6 * np.random.default_rng(0).normal(size=30)
    (finding,) = constant_loss.check(a_run(loss=wobbling))
    assert "exactly" not in finding.message
    assert constant_loss.check(a_run(loss=[4.605] * 20))


def test_stays_silent_in_a_warm_up_and_on_a_run_that_is_finished():
    creeping = 4.6052 - 1e-6 * np.arange(30)
    assert constant_loss.check(a_run(loss=creeping, lr=np.geomspace(1e-9, 1e-6, 30))) == []
    assert constant_loss.check(a_run(loss=[*np.geomspace(900, 1, 40), *[0.7123456] * 40])) == []


RNG = np.random.default_rng(3)
RESTING = 0.3 + 0.1 * np.exp(-np.arange(150) / 15) * (1 + 0.3 * RNG.normal(size=150))
BATCHES = np.arange(150.0)


def test_speaks_when_the_loss_comes_to_rest_high_up_and_no_longer_depends_on_the_batch():
    (finding,) = constant_loss.check(a_run(loss=RESTING, batch_fingerprint=BATCHES))
    assert finding.message.startswith("The loss is 0.3 at each of the last 50 readings, since step 100")


@pytest.mark.parametrize(
    "vitals",
    [
        {"loss": RESTING},  # nobody knows whether batches differ
        {"loss": RESTING, "batch_fingerprint": np.ones(150)},
        {"loss": RESTING - 0.29, "batch_fingerprint": BATCHES},  # low down: it has learned
        {"loss": RESTING + 0.01 * RNG.normal(size=150), "batch_fingerprint": BATCHES},
        {"loss": 2.5 + 1e-3 * RNG.normal(size=150), "batch_fingerprint": BATCHES},  # as calm as it ever was
    ],
)
def test_stays_silent_about_losses_that_settle_otherwise(vitals):
    assert constant_loss.check(a_run(**vitals)) == []


@pytest.mark.parametrize(("moves", "speaks"), [(0.02, False), (0.001, True)])
def test_one_constant_answer_has_one_validation_loss(moves, speaks):
    evaluations = 0.15 * (1 + moves * np.array([0, 0.4, -0.3, 0.5, -0.2, 0.3, -0.5, 0.2, -0.4, 0.5]))
    run = a_run(loss=RESTING, batch_fingerprint=BATCHES, val_loss=evaluations)
    assert bool(constant_loss.check(run)) is speaks


@pytest.mark.parametrize(("box", "held_out", "speaks"), [(0.0, 3.5, True), (0.0, 0.0, False), (0.001, 3.5, False)])
def test_a_part_that_is_never_asked_for_in_training(box, held_out, speaks):
    falling = [100 * 0.9**k for k in range(30)]
    run = a_run(
        loss=falling,
        val_loss=[8.0] * 29 + [8.1],
        **{"part/box_loss": [box] * 30, "part/cls_loss": falling, "val/box_loss": [held_out] * 30},
    )
    found = constant_loss.check(run)
    assert bool(found) is speaks
    assert not speaks or "box_loss of the training is exactly 0 at all 30 readings" in found[0].message


@pytest.mark.parametrize(
    ("changed", "speaks"),
    [
        ({}, False),
        ({"grad_norm": [1.0] * 10 + [2e-4] * 40}, True),  # there is a way down, and nobody takes it
        ({"batch_fingerprint": [1.0, 2.0] * 25}, True),
        ({"config": {"target_variance": 0.2}}, True),
        ({"loss": [0.215] * 10 + [0.2] * 40}, True),
    ],
)
def test_a_single_batch_that_is_fitted_as_well_as_can_be_may_rest(changed, speaks):
    converged = {"loss": [1.5] * 10 + [0.2] * 40, "grad_norm": [1.0] * 10 + [1e-5] * 40, "batch_fingerprint": 1.0}
    converged["loss"] = [value * 1.0001234 for value in (changed.get("loss") or converged["loss"])]
    assert bool(constant_loss.check(a_run(**converged | {k: v for k, v in changed.items() if k != "loss"}))) is speaks


@pytest.mark.parametrize(("decimals", "speaks"), [(2, False), (4, True)])
def test_one_printed_digit_repeats_by_rounding(decimals, speaks):
    loss = np.round(np.r_[np.geomspace(1.8411, 0.0301, 60), np.full(40, 0.0301)], decimals)
    assert bool(constant_loss.check(a_run(loss=loss))) is speaks
