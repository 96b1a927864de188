from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.leaked_answer import leaked_answer
from bedside.testing import a_run

LABEL = {"leak": True, "examples": 800, "classes": 10, "columns": 10, "first": 64, "of": 74}
FUTURE = {"position": 31, "length": 32, "changed": 31, "change": 0.2, "rounding": 1e-5}


def seen(*events):
    return a_run(loss=[0.1] * 50, events=[Event(0, "coverage"), *events])


def test_names_the_columns_that_are_the_label():
    [found] = leaked_answer.check(seen(Event(20, "label_in_input", LABEL)))
    assert found.severity is Severity.ERROR
    assert found.message == (
        "10 of the 74 inputs (from column 64) are the class in other words, in all of 800 examples."
    )


def test_says_which_answers_changed_with_a_later_token():
    [found] = leaked_answer.check(seen(Event(20, "future_seen", FUTURE)))
    assert "with token 31 changed, the answers at 31 of the 31 positions before it change" in found.message
    assert "causal mask" in found.try_[0]


def test_is_silent_when_the_proof_was_taken_back():
    events = [Event(20, "label_in_input", LABEL), Event(90, "label_in_input", {**LABEL, "leak": False})]
    assert leaked_answer.check(seen(*events)) == []


def test_is_silent_where_nothing_leaks():
    assert leaked_answer.check(seen()) == []


def test_cannot_tell_from_a_log():
    assert isinstance(leaked_answer.examine(a_run(loss=[0.1] * 50)), NotExamined)
