import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.undersized_update import undersized_update
from bedside.testing import a_run

FLAT = 2.31 + 0.01 * np.random.default_rng(0).standard_normal(200)


def test_speaks_when_the_learning_rate_is_far_too_small():
    run = a_run(loss=FLAT, lr=1e-7, relative_update_norm={"": 1e-6, "front": 8e-7, "head": 2e-6})
    [found] = undersized_update.check(run)
    assert found.try_[0] == "Raise the learning rate from 1e-7 to about 1e-4."
    assert "2e-4 in all 200 steps" in found.message


def test_stays_silent_in_the_healthy_range():
    assert not undersized_update.check(a_run(loss=FLAT, lr=1e-4, relative_update_norm=2e-4))


def test_stays_silent_when_the_loss_falls_all_the_same():
    run = a_run(loss=np.linspace(2.3, 1.9, 200), lr=1e-6, relative_update_norm=1e-5)
    assert not undersized_update.check(run)


def test_stays_silent_when_the_schedule_ends_at_zero():
    lr = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(300) / 300))
    assert not undersized_update.check(a_run(loss=[0.5] * 300, lr=lr, relative_update_norm=lr))


def test_stays_silent_when_some_module_moves_as_it_should_because_then_others_are_dead():
    run = a_run(loss=FLAT, lr=1e-3, relative_update_norm={"": 2e-5, "dead": 1e-6, "head": 3e-3})
    assert not undersized_update.check(run)


def test_does_not_judge_a_run_that_is_still_warming_up():
    lr = np.linspace(1e-9, 1e-3, 40)
    assert isinstance(undersized_update.examine(a_run(loss=[2.3] * 40, lr=lr, relative_update_norm=lr)), NotExamined)


def test_says_nothing_when_nothing_moves_at_all_because_that_has_other_causes():
    assert not undersized_update.check(a_run(loss=FLAT, lr=0.0, relative_update_norm=0.0))


def test_says_at_once_that_steps_of_a_millionth_lead_nowhere():
    few = {"loss": [2.3] * 25, "lr": 1e-7}
    assert undersized_update.check(a_run(**few, relative_update_norm=1e-6))
    assert isinstance(undersized_update.examine(a_run(**few, relative_update_norm=2e-5)), NotExamined)


def test_waits_for_the_end_of_a_warm_up():
    rate = [1e-8 * k for k in range(1, 61)]
    early = undersized_update.examine(a_run(loss=[2.3] * 60, lr=rate, relative_update_norm=1e-6))
    assert "warm-up" in str(early)


def test_needs_the_fewer_readings_the_shorter_the_steps_are():
    for moved, enough in [(1e-6, 20), (1e-5, 33), (2.9e-5, 50)]:
        for steps, speaks in [(enough - 2, False), (enough, True)]:
            run = a_run(loss=FLAT[:steps], lr=1e-6, relative_update_norm=moved)
            assert bool(undersized_update.check(run)) == speaks


def test_speaks_of_short_steps_where_a_finished_run_is_still_at_a_guess():
    slow = {"loss": FLAT, "lr": 1e-5, "relative_update_norm": {"": 8e-5, "body": 9e-5, "head": 2e-4}}
    [found] = undersized_update.check(a_run(**slow, config={"classes": 10}, finished=True))
    assert found.try_[0] == "Raise the learning rate from 1e-5 to about 1e-4."
    assert not undersized_update.check(a_run(**slow, config={"classes": 10}))
    assert not undersized_update.check(a_run(**slow, config={"classes": 100}, finished=True))


@pytest.mark.parametrize(("last", "update", "speaks"), [(3.6, 1.5e-5, True), (2.1, 1.5e-5, False), (3.6, 1e-3, False)])
def test_a_run_that_ended_above_the_entropy_of_many_labels_had_too_small_steps(last, update, speaks):
    run = a_run(
        loss=np.linspace(4.6, last, 300),
        relative_update_norm={"": update, "body": update, "zero_bias": 0.01},
        param_norm={"": 90.0, "body": 90.0, "zero_bias": 0.01},
        lr=1e-3,
        config={"classes": 88, "label_entropy": 2.99},
        finished=True,
    )
    found = undersized_update.check(run)
    assert bool(found) is speaks
    assert all("comes down only to 3.6" in each.message for each in found)


def test_readings_that_are_far_apart_show_as_many_steps_as_lie_between_them():
    """A short run is read at every twentieth step: thirty readings show that none of its steps was long enough."""
    far = np.arange(0, 600, 20)
    loss = Series("loss", "", np.arange(600), np.full(600, 2.3))
    rate = Series("lr", "", np.arange(600), np.full(600, 1e-6))
    moved = Series("relative_update_norm", "", far, np.full(len(far), 2e-5))
    assert undersized_update.check(Run("run", [loss, rate, moved]))


def short_way(moved=3e-4, fell=0.15, steps=440, bends=False, **more):
    """A run that has ended, whose loss fell evenly (or bent and rests) while steps of `moved` added up."""
    done = np.linspace(0, 1, steps)
    loss = 2.3 - fell * (1 - np.exp(-8 * done) if bends else done)
    noise = 0.005 * np.random.default_rng(0).standard_normal(steps)
    facts = {"config": {"classes": 10}, "finished": True, "lr": 3e-5} | more
    return a_run(loss=loss + noise, relative_update_norm={"": moved, "body": moved, "head": 2 * moved}, **facts)


def test_speaks_when_a_run_ends_on_a_short_way_along_which_the_loss_fell_evenly():
    [found] = undersized_update.check(short_way())
    assert "moved the weights by 0.1 of their norm" in found.message
    assert "94 % of a blind guess, ln 10" in found.message
    assert found.try_[0] == "Raise the learning rate from 3e-5 to about 3e-4."


@pytest.mark.parametrize(
    "run",
    [
        short_way(bends=True),  # it rests: more of the same would not help
        short_way(moved=1e-3),  # long enough a way
        short_way(fell=1.5),  # below half of a guess: a fine-tuned model may be near its end
        short_way(config={}),  # nobody knows what a guess has
        short_way(finished=False),
        short_way(steps=90),  # too few steps, perhaps
    ],
)
def test_stays_silent_where_something_else_ended_it(run):
    assert not undersized_update.check(run)


def test_half_a_blind_guess_and_a_way_of_a_third_are_the_edges():
    assert undersized_update.check(short_way(fell=1.1))
    assert not undersized_update.check(short_way(fell=1.3))
    assert undersized_update.check(short_way(moved=0.29 / 440))
    assert not undersized_update.check(short_way(moved=0.31 / 440))
