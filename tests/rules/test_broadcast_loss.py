from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.broadcast_loss import broadcast_loss
from bedside.testing import a_run

WATCHED = Event(0, "coverage")


def test_speaks_when_a_column_meets_a_row():
    shapes = {"function": "mse_loss", "prediction": [8, 1], "target": [8], "result": [8, 8]}
    [found] = broadcast_loss.check(a_run(loss=1.0, events=[WATCHED, Event(0, "broadcast_loss", shapes)]))
    assert (found.severity, found.first_step, found.last_step) == (Severity.ERROR, 0, 99)
    assert "(8, 1)" in found.message


def test_speaks_with_less_confidence_when_only_the_graph_tells():
    shapes = {"function": "", "prediction": [8, 1], "target": None, "result": [8, 8]}
    [found] = broadcast_loss.check(a_run(loss=1.0, events=[WATCHED, Event(0, "broadcast_loss", shapes)]))
    assert found.confidence < 0.9


def test_stays_silent_when_the_shapes_are_equal():
    assert not broadcast_loss.check(a_run(loss=1.0, events=[WATCHED]))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(broadcast_loss.examine(a_run(loss=1.0)), NotExamined)
