from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.saturated_units import saturated_units
from bedside.testing import a_run


def check(shares, kind="tanh", loss=2.0, **more):
    kinds = Event(0, "nonlinearities", dict.fromkeys(shares, kind))
    return saturated_units.check(a_run(loss=loss, steps=100, saturated_fraction=shares, events=[kinds], **more))


def test_speaks_when_a_hidden_layer_is_saturated():
    [found] = check({"a": 0.9, "b": 0.7, "c": 0.1})
    assert (found.severity, found.where) == (Severity.WARNING, ("a", "b"))


def test_is_a_note_when_the_loss_came_down_all_the_same():
    [found] = check({"a": 0.9, "b": 0.1}, loss=[2 * 0.95**i for i in range(100)])
    assert found.severity == Severity.NOTE


def test_stays_silent_when_only_the_last_one_is_sure_of_its_answers():
    assert not check({"a": 0.2, "out": 0.95}, kind="sigmoid")


def test_stays_silent_on_softmax():
    assert not check({"a": 0.9, "b": 0.9, "c": 0.9}, kind="softmax")


def test_stays_silent_when_half_the_outputs_are():
    assert not check({"a": 0.53, "b": 0.1})


def test_coming_down_from_far_above_chance_is_no_learning():
    [found] = check({"a": 0.95, "b": 0.1}, loss=[30 * 0.95**i + 1.6 for i in range(100)], config={"classes": 10})
    assert found.severity == Severity.WARNING


def test_saturated_from_the_first_step_is_a_fault_of_the_start_unless_all_is_solved():
    slowly = [2 * 0.98**i for i in range(100)]
    [found] = check({"a": 0.9, "b": 0.1}, loss=slowly)
    assert found.severity == Severity.WARNING
    [found] = check({"a": [0.0] * 20 + [0.9] * 80, "b": 0.1}, loss=slowly)
    assert found.severity == Severity.NOTE


def test_speaks_when_a_head_shut_itself_off():
    gone = [1.0] * 5 + [1e-9] * 95
    [found] = check({"out": [0.5] * 5 + [1.0] * 95}, kind="sigmoid", loss=[0.4] * 5 + [0.1] * 95, grad_norm=gone)
    assert found.where == ("out",)


def test_stays_silent_when_a_head_is_sure_and_right():
    gone = [1.0] * 5 + [1e-9] * 95
    assert not check({"out": [0.5] * 5 + [1.0] * 95}, kind="sigmoid", loss=[0.4] * 5 + [0.001] * 95, grad_norm=gone)
