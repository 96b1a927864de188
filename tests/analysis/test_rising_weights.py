from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.losses import meant_to_fall, training_loss, validation_losses
from bedside.analysis.rising_weights import rising_weight
from bedside.diagnosis.engine import examine
from bedside.finding import Severity
from bedside.testing import a_run

EPOCHS = np.arange(60)
RAMP = np.minimum(1, np.maximum(0, EPOCHS - 8) / 25)
RNG = np.random.default_rng(0)
ERROR = 7 + 28 * np.exp(-EPOCHS / 4) + 0.05 * RNG.normal(size=60)
KL = 5 + 20 * np.exp(-EPOCHS / 15)
TOTAL = ERROR + RAMP * KL


def a_warm_up(**changed):
    vitals = {"loss": TOTAL, "val_loss": TOTAL + 0.1, "beta": RAMP, "train/recon": ERROR, "val/recon": ERROR + 0.1}
    run = a_run(**(vitals | changed))
    run.axis = "epoch"
    return run


def alarms(run):
    return [each.name for each in examine(run).findings if each.severity >= Severity.WARNING]


def test_the_part_that_the_weight_leaves_alone_is_judged():
    run = a_warm_up()
    assert rising_weight(run) == "beta"
    assert training_loss(run).key == "train/recon"
    assert [each.key for each in validation_losses(run)] == ["val/recon"]
    assert alarms(run) == []


def test_a_reconstruction_that_is_lost_again_is_an_alarm_all_the_same():
    lost = ERROR + 20 * (EPOCHS > 30)
    assert {"lost-progress", "diverging-loss"} & set(alarms(a_warm_up(**{"train/recon": lost, "loss": lost + RAMP})))


def test_without_that_part_the_total_is_no_loss_that_should_fall():
    run = a_run(loss=TOTAL, kl_weight=RAMP)
    assert rising_weight(run) == "kl_weight"
    assert not meant_to_fall(run)
    assert alarms(run) == []


def test_a_weight_that_nobody_logged_shows_in_the_parts():
    run = a_run(loss=TOTAL, **{"train/recon": ERROR, "train/kl": KL})
    assert rising_weight(run) == "train/kl"
    assert rising_weight(a_run(loss=ERROR + 0.5 * KL, **{"train/recon": ERROR, "train/kl": KL})) == ""


@pytest.mark.parametrize(
    "vitals",
    [
        {"beta": 0.9},
        {"beta": 0.9 + 0.05 * RNG.normal(size=60)},
        {"beta": RAMP[::-1]},
        {"weight_norm": 1 + EPOCHS},
        {"part/adv": EPOCHS + 1.0},
    ],
    ids=["constant", "drifts", "falls", "the weights of the network", "a term, not its weight"],
)
def test_what_is_no_rising_weight(vitals):
    run = a_run(loss=TOTAL, **vitals)
    assert rising_weight(run) == ""
    assert training_loss(run).key == "loss"
