import numpy as np

from bedside.finding import NotExamined
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
