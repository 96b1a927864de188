from bedside.finding import Severity
from bedside.rules.growing_activations import growing_activations
from bedside.testing import a_run

GROWING = [1.1**i for i in range(100)]


def check(rms, loss):
    return growing_activations.check(a_run(loss=loss, steps=100, activation_rms={"mlp": rms, "head": 1.0}))


def test_warns_when_the_loss_suffers_too():
    [found] = check(GROWING, [2.0] * 50 + [3.0] * 50)
    assert (found.severity, found.where) == (Severity.WARNING, ("mlp",))


def test_is_a_note_while_the_loss_keeps_its_gains():
    [found] = check(GROWING, [2 * 0.97**i for i in range(100)])
    assert found.severity == Severity.NOTE


def test_stays_silent_when_logits_grow_tenfold():
    assert not check([1 + 0.1 * i for i in range(100)], [2.0] * 50 + [3.0] * 50)


def test_stays_silent_when_it_grew_and_settled():
    assert not check([1.0] * 20 + [500.0] * 80, [2.0] * 50 + [3.0] * 50)
