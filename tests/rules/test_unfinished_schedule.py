import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.rules.unfinished_schedule import unfinished_schedule
from bedside.testing import a_run

LINE = 1e-3 * (1 - np.arange(400) / 1000)


def test_speaks_when_a_finished_run_stopped_half_way_down():
    [found] = unfinished_schedule.check(a_run(loss=1.0, lr=LINE, config={"max_steps": 1000}, finished=True))
    assert "400 of 1,000" in found.message


def test_stays_silent_when_the_run_is_still_going_on():
    run = a_run(loss=1.0, lr=LINE, config={"max_steps": 1000})
    assert isinstance(unfinished_schedule.examine(run), NotExamined)


def test_stays_silent_when_the_rate_is_constant():
    assert not unfinished_schedule.check(
        a_run(steps=400, loss=1.0, lr=1e-3, config={"max_steps": 1000}, finished=True)
    )  # fmt: skip


def test_stays_silent_when_the_plan_was_run():
    lr = 1e-3 * (1 - np.arange(400) / 400)
    assert not unfinished_schedule.check(a_run(loss=1.0, lr=lr, config={"max_steps": 400}, finished=True))


def counted(stepped, total, steps=400):
    made = {"name": "OneCycleLR", "total": total, "stepped": stepped, "optimizer_steps": steps}
    return a_run(loss=[1.0] * steps, lr=np.linspace(1e-4, 2e-4, steps), config={"schedulers": [made]}, finished=True)


def test_speaks_when_a_schedule_that_counts_steps_is_called_once_per_epoch():
    [found] = unfinished_schedule.check(counted(stepped=10, total=400))
    assert found.severity == Severity.WARNING
    assert "called 10 times in 400 steps" in found.message
    assert found.try_[0] == "Call scheduler.step() after every optimizer.step()."


def test_stays_silent_when_the_calls_are_those_it_was_built_for():
    assert not unfinished_schedule.check(counted(stepped=400, total=400))
    assert not unfinished_schedule.check(counted(stepped=10, total=10))


def test_takes_a_run_that_was_stopped_after_a_tenth_of_its_epochs_for_that():
    assert not unfinished_schedule.check(counted(stepped=10, total=100))


def test_is_a_note_where_only_the_plan_is_known():
    [found] = unfinished_schedule.check(a_run(loss=1.0, lr=LINE, config={"max_steps": 1000}, finished=True))
    assert found.severity == Severity.NOTE
