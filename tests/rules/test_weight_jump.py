import numpy as np

from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.weight_jump import weight_jump
from bedside.testing import a_run

CALM = 10 + 0.002 * np.arange(300)


def jump(at=200, to=17.0):
    norms = CALM.copy()
    norms[at:] += to - 10
    return norms


def test_warns_when_the_weights_jump_and_the_loss_suffers():
    [found] = weight_jump.check(a_run(loss=[1.0] * 200 + [3.0] * 100, param_norm=jump()))
    assert (found.severity, found.first_step) == (Severity.WARNING, 200)


def test_is_a_note_when_the_loss_does_not_mind():
    [found] = weight_jump.check(a_run(loss=1.0, param_norm=jump()))
    assert found.severity == Severity.NOTE


def test_names_the_module_that_jumped():
    norms = {"": jump(), "body": CALM, "head": jump(to=14)}
    [found] = weight_jump.check(a_run(loss=1.0, param_norm=norms))
    assert found.where == ("head",)


def test_stays_silent_when_weights_drift():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=CALM))


def test_stays_silent_when_the_run_was_resumed_there():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=jump(), events=[Event(200, "resume")]))


def test_stays_silent_about_large_first_steps():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=jump(at=5)))
