from bedside.finding import NotExamined
from bedside.record.run import Event, Parameter
from bedside.rules.stale_optimizer import stale_optimizer
from bedside.testing import a_run


def check(*looks, parameters=()):
    events = [Event(step, "coverage", data) for step, data in looks]
    return stale_optimizer.check(a_run(loss=[2.0] * 100, events=events, parameters=parameters))


def test_speaks_when_parameters_were_replaced_after_the_optimizer_was_built():
    head = Parameter("head.weight", "head", 10, in_optimizer=False)
    [found] = check((0, {"uncovered": ["head.weight"], "stale": 1, "held": 8}), parameters=[head])
    assert found.message.startswith("1 of the 8 tensors in the optimizer are no longer")
    assert found.where == ("head",)


def test_speaks_when_the_optimizer_holds_none_of_the_model():
    [found] = check((0, {"uncovered": ["a.weight", "b.weight"], "stale": 2, "held": 2}))
    assert found.message.startswith("None of the 2 tensors")


def test_dates_a_replacement_in_the_middle_of_the_run():
    healthy = {"uncovered": [], "stale": 0, "held": 8}
    [found] = check((0, healthy), (40, {"uncovered": ["head.weight"], "stale": 1, "held": 8}))
    assert found.first_step == 40


def test_stays_silent_when_the_loss_has_parameters_of_its_own():
    assert not check((0, {"uncovered": [], "stale": 3, "held": 11}))


def test_stays_silent_when_parameters_are_only_missing():
    assert not check((0, {"uncovered": ["head.weight"], "stale": 0, "held": 6}))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(stale_optimizer.examine(a_run(loss=[2.0])), NotExamined)
