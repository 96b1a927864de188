import numpy as np

from bedside.analysis.outside_changes import outside_changes
from bedside.record.run import Event
from bedside.testing import a_run

STILL = {"body": 5.0, "head": 4.0}
JUMP = {"body": 5.0, "head": np.r_[np.full(60, 4.0), np.full(40, 24.0)]}


def test_a_norm_that_moved_further_than_the_step_was_long_was_changed_from_outside():
    [change] = outside_changes(a_run(param_norm=JUMP, update_norm={"body": 0.01, "head": 0.01}, lr=0.1))
    assert (change.step, change.owners) == (60, ("head",))


def test_so_was_a_step_far_longer_than_its_gradient_explains():
    long = np.full(100, 0.01)
    long[60] = 20.0
    ratio = np.full(100, 0.1)
    ratio[60] = 30.0
    updates, ratios = {"body": 0.01, "head": long}, {"body": 0.1, "head": ratio}
    run = a_run(param_norm=JUMP, update_norm=updates, effective_lr_ratio=ratios, lr=0.1)
    assert [each.step for each in outside_changes(run)] == [60]
    wild = a_run(param_norm=JUMP, update_norm=updates, effective_lr_ratio={"body": 0.1, "head": 0.1}, lr=0.1)
    assert outside_changes(wild) == []  # the gradient was as long: one wild batch


def test_a_resume_and_a_learning_rate_that_leapt_explain_it():
    updates = {"body": 0.01, "head": 0.01}
    assert outside_changes(a_run(param_norm=JUMP, update_norm=updates, lr=0.1, events=[Event(60, "resume")])) == []
    rate = np.r_[np.full(60, 0.01), np.full(40, 0.1)]
    assert outside_changes(a_run(param_norm=JUMP, update_norm=updates, lr=rate)) == []


def test_quiet_weights_were_not_touched():
    assert outside_changes(a_run(param_norm=STILL, update_norm={"body": 0.01, "head": 0.01}, lr=0.1)) == []


def test_between_readings_that_are_apart_it_takes_more_than_all_the_steps_together():
    short, long = np.full(100, 0.01), np.full(100, 1.5)
    norms = {"body": np.full(100, 5.0), "head": JUMP["head"]}
    [change] = outside_changes(a_run(steps=1000, param_norm=norms, update_norm={"body": short, "head": short}, lr=0.1))
    assert (change.since, change.step) == (600, 609)
    assert outside_changes(a_run(steps=1000, param_norm=norms, update_norm={"body": short, "head": long}, lr=0.1)) == []


def test_a_change_must_be_large_beside_the_norm():
    for level, found in ((4.3, []), (4.6, [60])):
        norms = {"body": np.full(100, 5.0), "head": np.r_[np.full(60, 4.0), np.full(40, level)]}
        changes = outside_changes(a_run(param_norm=norms, update_norm={"body": 0.01, "head": 0.01}, lr=0.1))
        assert [each.step for each in changes] == found
