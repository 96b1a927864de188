from bedside.record.run import Event
from bedside.rules.never_stepped import never_stepped
from bedside.testing import a_run

WATCHED = Event(0, "coverage", {"uncovered": [], "stale": 0, "held": 6})


def unstepped(count):
    return [WATCHED, Event(0, "unstepped", {"backwards": count})]


def test_speaks_when_no_step_was_ever_taken():
    [found] = never_stepped.check(a_run(steps=1, events=unstepped(300)))
    assert found.message == "300 backward passes, and the optimizer has not taken one step."


def test_speaks_when_the_steps_stopped():
    run = a_run(loss=[2.0] * 50, micro_batches=4, events=unstepped(60))
    [found] = never_stepped.check(run)
    assert found.first_step == 49


def test_stays_silent_during_an_ordinary_accumulation():
    assert not never_stepped.check(a_run(loss=[2.0] * 50, micro_batches=16, events=unstepped(15)))
    assert not never_stepped.check(a_run(steps=1, events=unstepped(12)))


def test_stays_silent_on_a_run_that_steps():
    assert not never_stepped.check(a_run(loss=[2.0] * 50, micro_batches=1, events=[WATCHED]))
