from bedside.finding import Severity
from bedside.rules.collapsed_attention import collapsed_attention
from bedside.testing import a_run

FALLS = [0.0] * 40 + [0.95] * 60


def check(loss, classes=None, **layers):
    config = {"classes": classes} if classes else {}
    return collapsed_attention.check(a_run(loss=loss, steps=100, attention_dirac=layers, config=config))


def test_warns_when_most_layers_collapse_and_the_loss_rises():
    [found] = check([3.0] * 40 + [3.4] * 60, a=FALLS, b=FALLS, c=0.1)
    assert (found.severity, found.first_step, found.where) == (Severity.WARNING, 40, ("a", "b"))


def test_is_a_note_when_the_loss_goes_on_falling_or_rests_at_its_floor():
    for loss in ([3.0 - 0.02 * i for i in range(100)], [0.01] * 100):
        [found] = check(loss, a=FALLS, b=FALLS)
        assert found.severity == Severity.NOTE


def test_warns_when_an_untrained_model_looks_at_single_tokens():
    [found] = check([4.4] * 10 + [3.0] * 90, classes=64, a=[0.9] * 50 + [0.7] + [0.9] * 49, b=0.95)
    assert (found.severity, found.first_step) == (Severity.WARNING, 0)
    assert "square root" in found.try_[0]


def test_stays_silent_when_one_layer_of_many_is_peaked():
    assert not check(3.0, a=FALLS, b=0.1, c=0.2, d=0.0)


def test_stays_silent_when_a_trained_model_was_so_from_the_start():
    assert not check(3.0, a=0.95, b=0.95)
    assert not check(1.5, classes=64, a=0.95, b=0.95)


def test_stays_silent_when_attention_looks_around():
    assert not check(3.0, a=0.2, b=0.4)
