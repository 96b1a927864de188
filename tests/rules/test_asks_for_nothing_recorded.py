"""No rule asks the user to look at what the run holds: it looks itself, and says what it saw or nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.record.run import Event, Parameter
from bedside.rules.amplified_step import amplified_step
from bedside.rules.constant_loss import constant_loss
from bedside.rules.exploding_gradient import exploding_gradient
from bedside.rules.gap_from_start import gap_from_start
from bedside.rules.loss_at_chance import loss_at_chance
from bedside.rules.oscillating_gradient import oscillating_gradient
from bedside.rules.stuck_from_start import stuck_from_start
from bedside.testing import a_run

RNG = np.random.default_rng(0)
EVALUATED = (Event(10, "evaluation_input", {"size": 32, "nonfinite": 0, "mean": 0.0, "std": 1.0}),)


def at_chance(n=300):
    return np.log(10) + 0.01 * RNG.normal(size=n)


def settled(n=300):
    return np.log(37) + 2 * np.exp(-np.arange(n) / 10) + 0.004 * RNG.normal(size=n)


def bouncing(n=400):
    return np.where(np.arange(n) % 2, 3.0, 1.0) * np.exp(0.05 * RNG.normal(size=n))


def wild(n=400):
    norms = 1 + 0.1 * RNG.random(n)
    norms[100::7] = 1e5
    return norms


GAP = {"loss": 1 + 2 * np.exp(-np.arange(200) / 80), "val_loss": 8 + 0.3 * RNG.normal(size=12)}
SGD = {"optimizers": [{"name": "SGD", "momentum": 0.0, "weight_decay": 1e-4}]}
STUCK = {"loss": at_chance(), "lr": 1e-3, "config": {"num_classes": 10}}
SETTLED = {"loss": settled(), "config": {"num_classes": 37}}
WILD = {"grad_norm": wild(), "loss": 2 + 0.1 * RNG.normal(size=400)}
BOUNCING = {"grad_norm": bouncing(), "loss": np.linspace(2, 1, 400)}
AMPLIFIED = {"loss": [2.0] * 100, "lr": 0.1, "effective_lr_ratio": 4.0, "config": SGD}
FEATURES = 1 + 0.1 * RNG.random(400)


@pytest.mark.parametrize(
    ("rule", "run", "recorded", "asked"),
    [
        (stuck_from_start, STUCK, {"parameters": [Parameter("w", "head", 4)]}, "Check that the optimizer holds"),
        (constant_loss, {"loss": [2.302585] * 50}, {"batch_fingerprint": RNG.random(50)}, "another batch at each step"),
        (constant_loss, {"loss": [2.302585] * 50}, {"batch_variation": {"out": 0.5}}, "predictions for two inputs"),
        (gap_from_start, GAP, {"events": EVALUATED}, "model.eval() is called"),
        (loss_at_chance, SETTLED, {"saturated_fraction": {"head": 0.0}}, "saturated the network"),
        (exploding_gradient, WILD, {"input_max": FEATURES}, "look at the batch of one such step"),
        (oscillating_gradient, BOUNCING, {"input_rms": FEATURES}, "print what the even and the odd batches hold"),
        (amplified_step, AMPLIFIED, {"param_norm": 3.0, "grad_norm_clipped": 0.5}, "Compare weight decay"),
    ],
)
def test_what_was_recorded_is_not_asked_for(rule, run, recorded, asked):
    assert asked in _all_advice(rule, run)
    assert asked not in _all_advice(rule, run | recorded)


def _all_advice(rule, run):
    found = rule.check(a_run(**run))
    assert found
    return " ".join(text for each in found for text in (*each.could_also_be, *each.try_))


def test_batches_that_take_turns_are_seen():
    sizes = np.where(np.arange(400) % 2, 3.0, 1.0)
    (finding,) = oscillating_gradient.check(a_run(**BOUNCING, input_rms=sizes))
    assert "inputs of even steps are 1 large, of odd ones 3" in finding.could_also_be[0]


def test_a_weight_decay_that_outweighs_the_gradient_is_named_with_its_numbers():
    config = {"optimizers": [{"name": "SGD", "momentum": 0.0, "weight_decay": 0.1}]}
    (finding,) = amplified_step.check(a_run(**AMPLIFIED | {"config": config}, param_norm=30.0, grad_norm_clipped=0.2))
    assert "0.1 times weights of 30 makes 3 of each step, the gradient 0.2" in finding.try_[0]
