from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.training_in_eval_mode import training_in_eval_mode
from bedside.testing import a_run


def check(modes, affected=("Dropout",)):
    event = Event(0, "mode", {"training_forwards": "eval", "mode_dependent": list(affected)})
    return training_in_eval_mode.check(a_run(loss=1.0, steps=len(modes), eval_mode=modes, events=[event]))


def test_speaks_when_training_never_came_back_from_a_validation():
    [found] = check([0.0] * 50 + [1.0] * 50)
    assert (found.severity, found.first_step, found.last_step) == (Severity.ERROR, 50, 99)


def test_warns_when_it_was_so_from_the_first_step():
    [found] = check([1.0] * 100)
    assert found.severity == Severity.WARNING
    assert found.message.startswith("From the first step on")


def test_is_a_note_when_nothing_depends_on_the_mode():
    [found] = check([1.0] * 100, affected=())
    assert found.severity == Severity.NOTE


def test_stays_silent_when_train_mode_came_back():
    assert not check([0.0] * 50 + [1.0] * 30 + [0.0] * 20)


def test_stays_silent_after_a_few_steps_in_eval_mode():
    assert not check([0.0] * 95 + [1.0] * 5)


def test_says_what_it_needs_when_the_run_was_not_watched():
    assert isinstance(training_in_eval_mode.examine(a_run(loss=1.0)), NotExamined)
