from bedside.finding import Severity
from bedside.rules.no_learning_rate import no_learning_rate
from bedside.testing import a_run


def test_notes_that_the_learning_rate_is_missing():
    [found] = no_learning_rate.check(a_run(loss=[2.0] * 100))
    assert found.severity == Severity.NOTE


def test_stays_silent_when_it_is_there_or_the_log_is_short():
    assert not no_learning_rate.check(a_run(loss=[2.0] * 100, lr=1e-3))
    assert not no_learning_rate.check(a_run(loss=[2.0] * 5))
