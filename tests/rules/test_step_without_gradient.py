from bedside.finding import NotExamined
from bedside.record.run import Event, Parameter
from bedside.rules.step_without_gradient import step_without_gradient
from bedside.testing import a_run


def check(empty, steps=100, watched=0):
    events = [Event(0, "coverage")]
    if empty:
        events.append(Event(steps - 1, "empty_step", {"first_step": 0, "count": empty, "optimizer": "SGD"}))
    layer = [Parameter("layer.weight", "layer", 10, watched_steps=watched)] if watched else []
    return step_without_gradient.check(a_run(loss=1.0, steps=steps, events=events, parameters=layer))


def test_speaks_when_no_step_had_a_gradient():
    [found] = check(100)
    assert found.message.startswith("100 of 100 steps")


def test_speaks_when_every_step_that_was_watched_closely_was_empty():
    [found] = check(102, steps=3000, watched=101)
    assert found.message.startswith("102 of 102 steps")
    assert not check(20, steps=3000, watched=101)


def test_stays_silent_when_an_expert_misses_a_step_now_and_then():
    assert not check(20)


def test_stays_silent_when_one_empty_step_came_first():
    assert not check(1, steps=2)


def test_stays_silent_when_all_had_one():
    assert not check(0)


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(step_without_gradient.examine(a_run(loss=1.0)), NotExamined)
