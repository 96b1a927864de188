from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.saturated_units import saturated_units
from bedside.testing import a_run


def check(shares, kind="tanh", loss=2.0):
    kinds = Event(0, "nonlinearities", dict.fromkeys(shares, kind))
    return saturated_units.check(a_run(loss=loss, steps=100, saturated_fraction=shares, events=[kinds]))


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
