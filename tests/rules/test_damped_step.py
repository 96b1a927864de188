import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.damped_step import damped_step
from bedside.testing import a_run


def run(eps, root=1e-3, loss=None, looks=5):
    seen = {"optimizer": "Adam", "eps": eps, "root": root}
    curve = [2.3] * 100 if loss is None else loss
    return a_run(loss=curve, lr=1e-3, events=[Event(10 + i, "optimizer_epsilon", seen) for i in range(looks)])


def test_speaks_when_epsilon_outweighs_the_gradients_and_nothing_is_learned():
    [finding] = damped_step.check(run(1.0))
    assert finding.severity is Severity.WARNING
    assert "1/1,000 of the learning rate" in finding.message


def test_is_a_note_when_the_run_learned_all_the_same():
    [finding] = damped_step.check(run(1.0, loss=list(np.linspace(2.3, 0.2, 100))))
    assert finding.severity is Severity.NOTE


def test_stays_silent_when_epsilon_is_of_the_gradients_size():
    assert not damped_step.check(run(2e-3))


def test_stays_silent_when_gradients_were_small_once_only():
    assert not damped_step.check(run(1.0, looks=1))


def test_says_so_when_there_is_too_little_loss():
    assert isinstance(damped_step.examine(run(1.0, loss=[2.3] * 5)), NotExamined)
