"""Every piece of advice states its precondition: given where it helps, silent where it would be absurd."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from bedside.finding import Advice
from bedside.rules.advice import (
    clip_gradient,
    go_back,
    lower_learning_rate,
    new_learning_rate,
    other_nonlinearity,
    raise_learning_rate,
    train_longer,
    warm_up,
)
from bedside.rules.dead_units import dead_units
from bedside.rules.diverging_loss import diverging_loss
from bedside.rules.nonfinite_weights import nonfinite_weights
from bedside.testing import a_run


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (3e-3, 3e-4, "Lower the learning rate from 0.003 to about 3e-4."),
        (1e-4, 1e-3, "Raise the learning rate from 1e-4 to about 0.001."),
        (1e-8, 1e-9, ""),  # nobody goes there
        (10.0, 30.0, ""),
        (2e-17, 2e-16, "Raise the learning rate from 2e-17 to about 0.001."),  # ten times nothing is nothing
        (100.0, 10.0, "Lower the learning rate from 100 to about 0.1."),
        (0.1, 0.1, ""),
        (0.0, 0.1, ""),
        (float("nan"), 0.1, ""),
    ],
)
def test_a_new_learning_rate_is_one_that_people_use(old, new, said):
    assert new_learning_rate(old, new) == said


def test_advice_knows_what_it_turns_also_after_a_trip_to_another_process():
    advice = pickle.loads(pickle.dumps(new_learning_rate(1e-2, 1e-3)))
    assert (advice.knob, advice.turn, str(advice)) == (
        "learning rate", -1, "Lower the learning rate from 0.01 to about 0.001.",
    )  # fmt: skip
    assert raise_learning_rate(a_run(loss=1.0), 0).turn == 1
    assert lower_learning_rate(a_run(loss=1.0), 0) == "Lower the learning rate 10-fold."


def test_a_rate_that_a_schedule_has_ended_is_not_raised():
    decayed = a_run(lr=np.geomspace(0.1, 2e-17, 100))
    assert raise_learning_rate(decayed, 99) == ""
    assert raise_learning_rate(a_run(lr=1e-4), 99) == "Raise the learning rate from 1e-4 to about 0.001."


def test_there_is_no_checkpoint_from_before_the_first_steps():
    assert go_back(a_run(loss=1.0), 0) == ""
    assert go_back(a_run(loss=1.0), 80) == "Go back to a checkpoint from before step 80."
    [found] = nonfinite_weights.check(a_run(loss=1.0, nonfinite_params=4.0, grad_norm=1.0))
    assert not any("checkpoint" in each for each in found.try_)


def test_a_run_that_clips_is_not_told_to():
    assert clip_gradient(a_run(loss=1.0, clip_threshold=1.0)) == ""
    assert "clip_grad_norm_(model.parameters(), 0.5)" in clip_gradient(a_run(loss=1.0), at=0.5)


def test_a_run_that_warms_up_is_not_told_to():
    assert warm_up(a_run(lr=[0.01, 0.05, 0.1, *[0.1] * 97])) == ""
    assert warm_up(a_run(lr=0.1)) == "Warm the learning rate up over the first 10 steps."


def test_only_a_schedule_is_stretched():
    assert train_longer(a_run(loss=1.0, lr=0.1)) == "Train for half as long again."
    assert "stretched to 150 steps" in train_longer(a_run(lr=np.linspace(0.1, 0, 100)))
    warmed_up = np.minimum(0.1, np.linspace(0.01, 1, 100))
    assert train_longer(a_run(lr=warmed_up)) == "Train for half as long again."  # it never came down


def test_a_net_of_relus_is_not_told_to_replace_its_sigmoids():
    assert other_nonlinearity(a_run(loss=1.0, dead_fraction={"1": 0.0}), "`0`") == ""
    assert other_nonlinearity(a_run(loss=1.0, saturated_fraction={"1": 0.9}), "`0`").startswith("Replace sigmoid")
    assert other_nonlinearity(a_run(loss=1.0), "`0`").startswith("If `0` use")


def test_units_that_were_born_dead_are_no_reason_for_a_lower_learning_rate():
    losses = np.linspace(2.3, 2.2, 200)
    born = a_run(loss=losses, lr=0.1, dead_fraction={"1": 0.99}, dead_units={"1": 99.0})
    [found] = dead_units.check(born)
    assert not any("learning rate" in each for each in found.try_)


def test_a_divergence_from_the_start_has_nothing_to_go_back_to():
    [found] = diverging_loss.check(a_run(loss=[2.0, 2.1, *np.geomspace(200, 1e6, 198)], lr=0.5))
    assert found.first_step < 10
    assert not any("checkpoint" in each for each in found.try_)
    late = [*np.linspace(2.0, 0.5, 100), *np.geomspace(1, 1e6, 100)]
    [found] = diverging_loss.check(a_run(loss=late, lr=0.5))
    assert any("checkpoint from before" in each for each in found.try_)


def test_nothing_is_no_advice():
    assert not Advice("")


def test_nobody_is_told_to_clip_at_what_only_an_exploded_gradient_reaches():
    assert clip_gradient(a_run(loss=1.0), at=9e18) == ""
    assert clip_gradient(a_run(loss=1.0), at=1e5)
