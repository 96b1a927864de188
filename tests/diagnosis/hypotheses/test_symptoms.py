"""Which cause weighs most, on small runs whose vitals point at it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.diagnosis.hypotheses import differential
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Parameter
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


def test_a_network_that_learned_a_part_is_held_back_and_not_torn_from_its_labels():
    parameters = [Parameter("w", "a", 10, gradient_steps=400, watched_steps=400)]
    losses = np.concatenate([np.linspace(2.3, 1.4, 100), 1.4 + 0.01 * NOISE.standard_normal(300)])
    run = a_run(loss=losses, lr=1e-3, relative_update_norm=1e-3, grad_norm={"a": 1.0, "b": 0.5}, parameters=parameters)
    assert heaviest(run, "underfitting").name == "held-back"


def test_a_first_loss_far_above_a_blind_guess_is_a_bad_start():
    run = a_run(loss=np.geomspace(800, 2, 400), lr=1e-3, grad_norm=np.geomspace(8000, 3, 400), config={"classes": 10})
    assert heaviest(run, "exploding-gradient").name == "bad-start"
    late = [*np.full(100, 2.0), *np.geomspace(2, 800, 300)]
    run = a_run(loss=late, grad_norm=np.linspace(1, 9, 400), relative_update_norm=0.05, config={"classes": 10})
    assert heaviest(run, "diverging-loss", 100).name == "steps-too-large"


def test_a_gradient_that_is_not_finite_where_the_loss_is_points_at_a_formula():
    losses = calm_then([1.0, *[math.nan] * 199])
    run = a_run(loss=losses, lr=1e-3, relative_update_norm=1e-3, grad_norm=calm_then([math.nan] * 200))
    top = heaviest(run, "nonfinite-gradient", 200)
    assert top.name == "formula"
    assert any("its slope was not" in sign for sign in top.speaks_for)


def test_a_nan_under_autocast_to_float16_is_a_matter_of_precision():
    born = Event(200, "origin", {"kind": "module", "module": "4", "class": "Linear", "autocast": ["float16"]})
    finding = primary("nonfinite-activation", 200).with_(evidence={"kind": "module"})
    losses = calm_then([math.nan] * 200)
    run = a_run(loss=losses, grad_norm=losses, relative_update_norm=1e-3, events=[born])
    [question] = differential(run, [finding])
    assert question.heaviest.name == "precision"


def test_a_module_that_made_the_nan_is_the_top_hypothesis_whatever_the_steps_were():
    born = Event(200, "origin", {"kind": "module", "module": "0", "class": "Standardise", "autocast": []})
    finding = primary("nonfinite-activation", 200).with_(evidence={"kind": "module"})
    losses = calm_then([math.nan] * 200)
    run = a_run(loss=losses, grad_norm=np.linspace(1, 9, 400), relative_update_norm=0.3, lr=0.1, events=[born])
    [question] = differential(run, [finding])
    assert question.heaviest.name == "formula"
    assert question.heaviest.weight > 0.9


def test_a_little_growth_of_the_gradient_is_no_sign():
    norms = [*(np.linspace(1.0, 1.03, 200) + 1e-4 * NOISE.standard_normal(200)), *[math.nan] * 200]
    run = a_run(loss=calm_then([math.nan] * 200), grad_norm=norms, lr=1e-3, relative_update_norm=1e-3)
    [question] = differential(run, [primary("nonfinite-loss", 200)])
    result = [sign for each in question.hypotheses for sign in each.speaks_for]
    assert not any("grew" in sign for sign in result)


def test_a_constant_learning_rate_is_no_peak():
    run = a_run(loss=calm_then([math.nan] * 200), grad_norm=calm_then([math.nan] * 200), lr=1e-3)
    [question] = differential(run, [primary("nonfinite-loss", 200)])
    assert not any("peak" in sign for each in question.hypotheses for sign in each.speaks_for)


def test_a_weight_jump_that_was_found_is_the_cause():
    jump = Finding("WGT103", "weight-jump", Severity.WARNING, "Jumped.", 0.8, 205, 205)
    run = a_run(loss=calm_then([3.0] * 200), grad_norm=calm_then([3.0] * 200), relative_update_norm=1e-3)
    [question] = differential(run, [primary("diverging-loss", 200), jump])
    assert question.heaviest.name == "from-outside"


def epochs_at(*steps):
    return [Event(step, "epoch", {"epoch": n}) for n, step in enumerate(steps)]


def test_a_gap_within_the_first_epoch_is_not_learned_by_heart():
    run = a_run(
        loss=np.linspace(2.4, 0.02, 400),
        val_loss=[4.0, 4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6, 5.8, 6.0],
        events=epochs_at(*range(0, 400, 40)),
    )
    [question] = [q for q in differential(run, [primary("overfitting")]) if q.about]
    by_heart = next(each for each in question.hypotheses if each.name == "learned-by-heart")
    assert by_heart.weight < 0.2


@pytest.mark.parametrize(
    ("ends", "likely"),
    [(12.0, True), (4.6, False)],  # most of the gap opened later; or it was there when validation had come down
)
def test_a_gap_that_opened_after_validation_had_come_down_is_learned_by_heart(ends, likely):
    run = a_run(
        loss=np.linspace(2.4, 0.02, 400),
        val_loss=[6.0, *np.linspace(4.5, ends, 19)],
        events=epochs_at(*range(0, 400, 40)),
    )
    [question] = [q for q in differential(run, [primary("overfitting")]) if q.about]
    assert (question.heaviest.name == "learned-by-heart") == likely


def test_a_tiny_training_loss_makes_no_gap():
    """0.07 against 0.0008 is 81 times as much, and nothing on the scale of a loss that began at 2.3."""
    run = a_run(loss=np.geomspace(2.3, 0.0008, 400), val_loss=np.geomspace(2.2, 0.07, 10))
    for question in differential(run, [primary("overconfident")]):
        assert not any("times" in sign for each in question.hypotheses for sign in each.speaks_for)


def one_module(norms):
    """What speaks for and against one module out of scale, in a run that diverges with these gradient norms."""
    run = a_run(loss=calm_then([3.0] * 200), grad_norm=norms, relative_update_norm=0.05)
    [question] = differential(run, [primary("diverging-loss", 200)])
    [cause] = [each for each in question.hypotheses if each.name == "one-module"]
    return cause


def test_a_module_that_carries_nearly_all_of_the_gradient_is_suspected():
    cause = one_module({"a": 1.0, "b": 0.1})  # 99 % of the squared norm
    assert any("a carried 99 %" in sign for sign in cause.speaks_for)
    assert not cause.speaks_against


def test_a_module_that_carries_most_of_the_gradient_is_neither_suspected_nor_cleared():
    cause = one_module({"a": 1.0, "b": 0.5})  # 80 % of the squared norm
    assert not cause.speaks_for
    assert not cause.speaks_against


def test_gradients_that_are_shared_among_modules_speak_against_one_of_them():
    cause = one_module({"a": 1.0, "b": 0.9, "c": 0.9})  # 38 % of the squared norm
    assert not cause.speaks_for
    assert any("no module carried more than" in sign for sign in cause.speaks_against)
