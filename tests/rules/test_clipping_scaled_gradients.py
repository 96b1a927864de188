from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.clipping_scaled_gradients import clipping_scaled_gradients
from bedside.testing import a_run


def check(optimizer="SGD", recorded=True):
    events = [Event(0, "coverage")]
    if recorded:
        events.append(Event(50, "clipped_scaled", {"first_step": 1, "count": 50, "max_norm": 1.0}))
    config = {"optimizers": [{"name": optimizer}]}
    return clipping_scaled_gradients.check(a_run(loss=1.0, loss_scale=1024.0, events=events, config=config))


def test_speaks_when_gradients_are_clipped_before_they_are_unscaled():
    [found] = check()
    assert found.severity == Severity.ERROR
    assert "the true threshold is 9.77e-4" in found.message


def test_warns_when_the_optimizer_divides_the_scale_out_again():
    [found] = check("AdamW")
    assert found.severity == Severity.WARNING


def test_stays_silent_when_gradients_were_unscaled():
    assert not check(recorded=False)
