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


def test_speaks_when_gradients_are_cleared_before_nearly_every_step():
    thrown = {"micro_batches": 1, "discarded_backwards": 3}
    [found] = never_stepped.check(a_run(loss=[2.0] * 50, **thrown, events=[WATCHED]))
    assert found.message.startswith("Of the 4 backward passes before a step 3 were for nothing")
    assert not never_stepped.check(a_run(loss=[2.0] * 50, **thrown | {"discarded_backwards": 2}, events=[WATCHED]))


def test_stays_silent_where_it_is_rare_or_the_run_is_short():
    rare = [9.0] * 25 + [float("nan")] * 25
    assert not never_stepped.check(a_run(loss=[2.0] * 50, micro_batches=1, discarded_backwards=rare, events=[WATCHED]))
    short = a_run(loss=[2.0] * 6, micro_batches=1, discarded_backwards=3, events=[WATCHED])
    assert not never_stepped.check(short)
