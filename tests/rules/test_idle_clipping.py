from bedside.finding import Severity
from bedside.rules.idle_clipping import idle_clipping
from bedside.testing import a_run


def test_notes_a_threshold_far_above_every_norm():
    [found] = idle_clipping.check(a_run(loss=2.0, grad_norm=[0.02, 0.03] * 100, clip_threshold=1.0))
    assert found.severity == Severity.NOTE
    assert found.try_[0] == "Lower the threshold from 1 to about 0.09."


def test_stays_silent_when_clipping_acts_now_and_then_or_could():
    assert not idle_clipping.check(a_run(loss=2.0, grad_norm=[0.02] * 199 + [3.0], clip_threshold=1.0))
    assert not idle_clipping.check(a_run(loss=2.0, grad_norm=[0.3] * 200, clip_threshold=1.0))
