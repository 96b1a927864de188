"""Bedside looks at what it recorded: an explanation comes with its number, or not at all."""

import numpy as np
import pytest

from bedside.rules import what_was_seen as seen
from bedside.testing import a_run

QUIET = a_run(loss=1.0)  # nothing that decides was recorded


@pytest.mark.parametrize(
    ("explain", "holds", "does_not", "number"),
    [
        (
            seen.inputs_not_normalised,
            {"input_mean": 120.0, "input_std": 60.0},
            {"input_mean": 0, "input_std": 1},
            "120",
        ),
        (seen.gradients_summed, {"micro_batches": 4.0}, {"micro_batches": 1.0}, "4 micro-batches"),
        (seen.weights_decayed, {"param_norm": np.linspace(10, 1, 50)}, {"param_norm": 10.0}, "from 10 to 1"),
        (
            seen.one_module_makes_the_norm,
            {"grad_norm": {"a": 9.0, "b": 0.1}},
            {"grad_norm": {"a": 1.0, "b": 1.0}},
            "`a`",
        ),
        (seen.units_at_their_ends, {"dead_fraction": {"x": 0.9}}, {"dead_fraction": {"x": 0.1}}, "90 %"),
        (
            seen.outputs_leap,
            {"activation_rms": {"a": 1.0, "b": 80.0}},
            {"activation_rms": {"a": 1.0, "b": 1.2}},
            "80 at `b`",
        ),
        (
            seen.gradient_fades_towards_the_front,
            {"grad_norm": {"front": 1e-9, "back": 1.0}},
            {"grad_norm": {"front": 0.5, "back": 1.0}},
            "`front` has 1e-9",
        ),
        (
            seen.outputs_do_not_depend_on_the_input,
            {"batch_variation": {"out": 0.001}},
            {"batch_variation": {"out": 0.6}},
            "`out`",
        ),
        (
            seen.batches_take_turns,
            {"input_rms": [1.0, 3.0] * 25},
            {"input_rms": np.random.default_rng(0).normal(1, 0.1, 50)},
            "odd ones 3",
        ),
        (
            seen.decay_outweighs_the_gradient,
            {"param_norm": 30.0, "grad_norm_clipped": 0.2, "config": {"weight_decay": 0.1}},
            {"param_norm": 30.0, "grad_norm_clipped": 0.2, "config": {"weight_decay": 1e-4}},
            "makes 3 of each",
        ),
    ],
)
def test_says_the_number_that_decides_or_nothing(explain, holds, does_not, number):
    assert number in explain(a_run(loss=1.0, **holds))
    assert explain(a_run(loss=1.0, **does_not)) == ""
    assert explain(QUIET)  # where nobody recorded it, the explanation stands by itself


def test_the_first_loss_is_compared_with_a_blind_guess():
    known = {"classes": 10}
    assert "36" in seen.first_loss_too_high(a_run(loss=[36.0, *[3.0] * 30], config=known))
    assert seen.first_loss_too_high(a_run(loss=[2.4, *[2.0] * 30], config=known)) == ""


def test_the_rate_of_that_step_is_looked_up():
    rates = np.r_[np.linspace(1e-4, 1e-2, 50), np.linspace(1e-2, 1e-4, 50)]
    assert "0.01" in seen.rate_was_at_its_peak(a_run(loss=1.0, lr=rates), 50)
    assert seen.rate_was_at_its_peak(a_run(loss=1.0, lr=rates), 5) == ""
    assert seen.rate_was_at_its_peak(a_run(loss=1.0, lr=1e-2), 50) == ""


def test_the_batch_of_a_step_is_looked_up():
    largest = np.full(100, 3.0)
    largest[40] = 900.0
    run = a_run(loss=1.0, input_max=largest)
    assert "900" in seen.batch_was_unusual(run, 40, "otherwise")
    assert seen.batch_was_unusual(run, 41, "otherwise") == ""
    assert seen.batch_was_unusual(QUIET, 41, "otherwise") == "otherwise"


def test_the_largest_output_and_weights_that_grew_are_named():
    assert "`b`, 70,000" in seen.largest_activation(a_run(loss=1.0, activation_max={"a": 3.0, "b": 7e4}), 50)
    assert "norm went from 5 to 50" in seen.weights_had_grown(a_run(loss=1.0, param_norm=np.linspace(5, 50, 100)), 99)


def test_an_output_that_is_not_large_is_not_said_to_overflow():
    assert seen.largest_activation(a_run(loss=1.0, activation_max={"0": 0.95}), 50) == ""
    assert "`0`, 4,000" in seen.largest_activation(a_run(loss=1.0, activation_max={"0": 4000.0}), 50)


def test_only_what_float16_can_hold_is_told_to_be_kept_in_float32():
    assert "keep it in float32, or scale" in seen.largest_activation(a_run(loss=1.0, activation_max={"0": 4e4}), 50)
    assert seen.largest_activation(a_run(loss=1.0, activation_max={"0": 1e26}), 50).endswith(": scale it down.")
