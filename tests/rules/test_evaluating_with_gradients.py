from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.evaluating_with_gradients import evaluating_with_gradients
from bedside.testing import a_run


def check(count, confirmed=0):
    facts = {"first_step": 9, "count": count, "confirmed": confirmed, "passes": count}
    recorded = Event(99, "validation_with_gradients", facts)
    return evaluating_with_gradients.check(a_run(loss=1.0, eval_mode=0.0, events=[recorded]))


def test_warns_when_passes_that_were_evaluated_keep_their_graph():
    [found] = check(5, confirmed=5)
    assert found.severity == Severity.WARNING


def test_notes_it_when_only_the_mode_says_that_they_were_evaluations():
    [found] = check(5)
    assert (found.severity, found.first_step) == (Severity.NOTE, 9)


def test_stays_silent_after_a_single_look():
    assert not check(1)


def test_stays_silent_when_there_is_none():
    assert not evaluating_with_gradients.check(a_run(loss=1.0, eval_mode=0.0))
