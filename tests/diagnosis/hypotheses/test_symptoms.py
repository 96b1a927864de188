"""Which cause weighs most, on small runs whose vitals point at it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.diagnosis.hypotheses import differential
from bedside.finding import Finding, Severity
from bedside.record.run import Parameter
from bedside.testing import a_run

NOISE = np.random.default_rng(0)
CHANCE = 2.303 + 0.01 * NOISE.standard_normal(400)


def primary(name, first=0):
    return Finding("XXX101", name, Severity.WARNING, "It is so.", 0.9, first, 399, primary=True)


def heaviest(run, name, first=0):
    [question] = differential(run, [primary(name, first)])
    assert question.about == "XXX101"
    return question.heaviest


def calm_then(values):
    return [*(1.0 + 0.02 * NOISE.standard_normal(200)), *values]


def test_a_loss_that_does_not_fall_because_steps_are_too_small():
    run = a_run(loss=CHANCE, lr=1e-9, relative_update_norm=1e-9, grad_norm={"a": 1.0, "b": 0.5})
    assert heaviest(run, "stuck-from-start").name == "steps-too-small"


def test_a_loss_that_does_not_fall_because_half_of_the_network_is_dead():
    run = a_run(loss=CHANCE, lr=1e-3, relative_update_norm=1e-3, grad_norm={"a": 1e-9, "b": 1e-9, "c": 1.0})
    assert heaviest(run, "loss-at-chance").name == "no-gradient"


def test_a_loss_that_does_not_fall_because_the_first_steps_wrecked_the_weights():
    losses = [2.3, 40.0, 300.0, *CHANCE[3:]]
    run = a_run(loss=losses, lr=1.0, relative_update_norm=[5.0] * 10 + [1e-3] * 390)
    assert heaviest(run, "stuck-from-start").name == "steps-too-large"


def test_a_loss_that_does_not_fall_because_the_optimizer_holds_too_little():
    parameters = [Parameter("head.weight", "head", 10, in_optimizer=False), Parameter("body.weight", "body", 10)]
    run = a_run(loss=CHANCE, relative_update_norm=1e-3, parameters=parameters)
    assert heaviest(run, "stalled-loss").name == "not-connected"


def test_a_loss_that_does_not_fall_although_everything_moves():
    parameters = [Parameter("w", "a", 10, gradient_steps=400, watched_steps=400)]
    run = a_run(
        loss=CHANCE,
        lr=1e-3,
        relative_update_norm=1e-3,
        grad_norm={"a": 1.0, "b": 0.5},
        parameters=parameters,
        config={"classes": 10},
    )
    assert heaviest(run, "loss-at-chance").name == "nothing-to-learn"


def test_a_run_that_diverges_because_its_steps_are_too_large():
    run = a_run(
        loss=calm_then(np.exp(np.linspace(0, 9, 200))),
        lr=0.1,
        grad_norm=calm_then(np.exp(np.linspace(0, 9, 200))) * np.linspace(1, 3, 400),
        relative_update_norm=0.05,
    )
    assert heaviest(run, "diverging-loss", 200).name == "steps-too-large"


def test_a_spike_that_came_with_a_batch():
    losses = calm_then([9.0, *(1.0 + 0.02 * NOISE.standard_normal(199))])
    inputs = [*(1.0 + 0.02 * NOISE.standard_normal(200)), 80.0, *(1.0 + 0.02 * NOISE.standard_normal(199))]
    run = a_run(loss=losses, lr=1e-3, input_max=inputs, relative_update_norm=1e-3, grad_norm=losses)
    assert heaviest(run, "loss-spike", 200).name == "bad-batch"


def test_a_nan_out_of_a_calm_run():
    run = a_run(loss=calm_then([math.nan] * 200), lr=1e-3, grad_norm=calm_then([math.nan] * 200))
    assert heaviest(run, "nonfinite-loss", 200).name == "formula"


def test_a_nan_after_the_loss_scale_fell():
    scale = [65536.0] * 190 + [1024.0] * 10 + [1.0] * 200
    losses = calm_then([math.nan] * 200)
    run = a_run(loss=losses, loss_scale=scale, relative_update_norm=1e-5, grad_norm=losses)
    assert heaviest(run, "nonfinite-loss", 200).name in ("precision", "formula")


@pytest.mark.parametrize(
    ("name", "train", "val", "cause"),
    [
        ("overfitting", np.linspace(2, 0.1, 400), [2.1, 1.9, 1.7, 1.5, 1.6, 1.7, 1.8, 1.9], "learned-by-heart"),
        ("gap-from-start", np.linspace(2, 0.5, 400), [9.0, 1.9, 6.9, 1.2, 5.6, 1.1, 4.4, 1.0], "evaluated-otherwise"),
    ],
)
def test_validation_worse_than_training(name, train, val, cause):
    [question] = [q for q in differential(a_run(loss=train, val_loss=val), [primary(name)]) if q.about]
    assert question.heaviest.name == cause


def test_a_finding_that_is_a_cause_itself_raises_no_question():
    assert differential(a_run(loss=CHANCE, lr=1e-9), [primary("stale-optimizer")]) == ()
