import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.frozen_learning_rate import frozen_learning_rate
from bedside.testing import a_run


def check(**config):
    return frozen_learning_rate.check(a_run(loss=[2.0] * 300, lr=1e-3, config=config, finished=True))


def test_speaks_when_the_scheduler_was_never_stepped():
    [found] = check(schedulers=[{"name": "StepLR", "stepped": 0}])
    assert "StepLR was made but never stepped" in found.message


def test_speaks_when_all_that_is_known_is_that_there_is_one():
    [found] = check(scheduler_attached=True)
    assert found.message.startswith("A scheduler was made but never stepped")


def test_speaks_when_a_stepped_schedule_has_no_effect():
    [found] = check(schedulers=[{"name": "CosineAnnealingLR", "stepped": 300}])
    assert "something sets the rate back" in found.message


def test_names_the_floor_at_which_a_schedule_begins():
    [found] = check(schedulers=[{"name": "CosineAnnealingWarmRestarts", "stepped": 300, "eta_min": 1e-3}])
    assert "begins at its own floor (eta_min = 0.001)" in found.message
    assert "eta_min" in found.try_[0]


def test_speaks_when_the_settings_of_a_log_name_a_schedule_that_has_no_effect():
    assert check(lr_scheduler_type="cosine", max_steps=1000)


@pytest.mark.parametrize(
    "config",
    [
        {"schedulers": [{"name": "StepLR", "stepped": 300}]},
        {"schedulers": [{"name": "ReduceLROnPlateau", "stepped": 300}]},
        {"lr_scheduler_type": "constant", "max_steps": 1000},
        {"lr_scheduler_type": "cosine", "max_steps": 100_000},
    ],
)
def test_stays_silent_when_the_schedule_may_be_waiting(config):
    assert not check(**config)


def test_waits_for_the_end_of_the_first_epoch():
    run = a_run(loss=[2.0] * 300, lr=1e-3, epoch=0.0, config={"schedulers": [{"name": "StepLR", "stepped": 0}]})
    assert not frozen_learning_rate.check(run)


def test_says_so_when_no_scheduler_is_known():
    assert isinstance(frozen_learning_rate.examine(a_run(loss=[2.0] * 300, lr=1e-3)), NotExamined)


def test_speaks_when_the_scheduler_drives_an_optimizer_that_takes_no_step():
    made = {"name": "StepLR", "stepped": 12, "optimizer_steps": 400, "drives_another_optimizer": True}
    [found] = frozen_learning_rate.check(a_run(loss=[2.0] * 400, lr=1e-3, config={"schedulers": [made]}))
    assert "on another optimizer than the one that takes the steps" in found.message
    assert found.try_ == ("Make the scheduler from the optimizer that takes the steps.",)


WARM = [1e-3 * min(1.0, (k + 1) / 30) for k in range(300)]


def test_speaks_when_a_schedule_by_hand_moves_the_first_group_alone():
    [found] = frozen_learning_rate.check(a_run(loss=[2.0] * 300, lr={"": WARM, "group_1": 1e-6}))
    assert "Parameter group 1 keeps a learning rate of 1e-6" in found.message


def test_speaks_when_it_is_the_first_group_that_is_left_behind():
    [found] = frozen_learning_rate.check(a_run(loss=[2.0] * 300, lr={"": 1e-6, "group_1": WARM}))
    assert found.evidence["group"] == 0


@pytest.mark.parametrize("other", [0.0, 1e-4, [rate / 1000 for rate in WARM]])
def test_stays_silent_over_groups_frozen_slower_or_scheduled_alike(other):
    run = a_run(loss=[2.0] * 300, lr={"": WARM, "group_1": other}, config={"schedulers": []})
    assert not frozen_learning_rate.check(run)


def test_is_a_note_when_a_decay_that_waits_has_nothing_to_cure():
    made = {"schedulers": [{"name": "StepLR", "stepped": 0}]}
    falling = 1.4 * np.exp(-np.arange(300) / 40)
    (waiting,) = frozen_learning_rate.check(a_run(loss=falling, lr=5.0, config=made, finished=True))
    assert waiting.severity == Severity.NOTE
    (needed,) = frozen_learning_rate.check(a_run(loss=0.8 + falling, lr=5.0, config=made, finished=True))
    assert needed.severity == Severity.WARNING


def test_a_log_of_epochs_whose_settings_name_a_schedule_needs_few():
    named = {"scheduler": "CosineAnnealingLR", "epochs": 30}
    (found,) = frozen_learning_rate.check(a_run(loss=[2.0] * 30, lr=0.05, config=named))
    assert "The CosineAnnealingLR schedule has no effect" in found.message
    for config, readings in (({**named, "scheduler": "none"}, 30), ({**named, "epochs": 90}, 30), (named, 8)):
        assert not frozen_learning_rate.check(a_run(loss=[2.0] * readings, lr=0.05, config=config))
    moving = 0.025 * (1 + np.cos(np.pi * np.arange(30) / 30))
    assert not frozen_learning_rate.check(a_run(loss=[2.0] * 30, lr=moving, config=named))
    assert not frozen_learning_rate.check(a_run(loss=[2.0] * 30, lr=0.05, config={**named, "scheduler": True}))
