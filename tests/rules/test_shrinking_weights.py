import numpy as np

from bedside.finding import Severity
from bedside.rules.shrinking_weights import shrinking_weights
from bedside.testing import a_run

STEPS = np.arange(300)


def test_speaks_when_weight_decay_wins_over_the_gradient():
    config = {"optimizers": [{"name": "SGD", "weight_decay": 0.3}]}
    [found] = shrinking_weights.check(a_run(loss=2.3, lr=0.1, param_norm=11 * 0.97**STEPS + 0.1, config=config))
    assert "from 0.3 to about 0.003" in found.try_[0]
    assert "0.03 of every weight" in found.try_[0]


def test_speaks_when_the_loss_gets_worse_again_while_weights_shrink():
    loss = np.r_[np.geomspace(2.3, 1.5, 100), np.linspace(1.5, 1.95, 200)]
    [found] = shrinking_weights.check(a_run(loss=loss, param_norm=11 * 0.99**STEPS + 1))
    assert "got worse again" in found.message


def test_speaks_when_the_loss_stands_half_way_while_weights_shrink():
    loss = np.r_[np.geomspace(2.3, 1.5, 100), np.full(200, 1.5)]
    [found] = shrinking_weights.check(a_run(loss=loss, param_norm=11 * 0.99**STEPS + 1))
    assert found.message.endswith("and the loss is still at 1.5.")


def test_speaks_when_decay_takes_far_more_than_any_recipe_and_the_loss_falls_but_slowly():
    loss = np.geomspace(2.3, 1.4, 300)
    for decay, speaks in [(3.0, True), (0.1, False)]:
        config = {"optimizers": [{"name": "AdamW", "weight_decay": decay}]}
        run = a_run(loss=loss, lr=3e-3, param_norm=11 * 0.99**STEPS + 1, config=config)
        assert bool(shrinking_weights.check(run)) == speaks


def test_stays_silent_when_the_loss_rests_near_its_floor_while_weights_shrink():
    loss = np.r_[np.geomspace(2.3, 0.1, 100), np.full(200, 0.1)]
    assert not shrinking_weights.check(a_run(loss=loss, param_norm=11 * 0.99**STEPS + 1))


def test_stays_silent_when_the_loss_falls_as_weights_shrink():
    assert not shrinking_weights.check(a_run(loss=np.geomspace(2.3, 0.2, 300), param_norm=11 * 0.99**STEPS))


def test_stays_silent_when_weights_shrink_a_little():
    assert not shrinking_weights.check(a_run(loss=2.3, param_norm=np.linspace(11, 8, 300)))


def test_stays_silent_when_weights_grow():
    assert not shrinking_weights.check(a_run(loss=2.3, param_norm=np.linspace(11, 20, 300)))


def begun(decay, kept, steps=24):
    """The first steps, at a learning rate of 3e-3."""
    config = {"optimizers": [{"name": "AdamW", "weight_decay": decay}]}
    loss = np.geomspace(2.4, 2.2, steps)
    return shrinking_weights.check(a_run(loss=loss, lr=3e-3, param_norm=11 * kept ** np.arange(steps), config=config))


def test_speaks_at_once_when_the_weights_follow_a_decay_far_too_strong():
    [found] = begun(decay=3.0, kept=0.991)
    assert "0.009 of every weight" in found.try_[0]


def test_stays_silent_early_on_when_the_gradient_holds_or_the_decay_is_an_ordinary_one():
    assert not begun(decay=3.0, kept=0.997)
    assert not begun(decay=0.1, kept=0.991)


def test_tells_of_a_single_layer_that_all_but_vanishes():
    norms = {"": 30.0, "a": 10.0, "b": 10.0, "c": 10.0, "gone": 10 * 0.97 ** np.arange(200)}
    [found] = shrinking_weights.check(a_run(loss=[2.3] * 200, param_norm=norms))
    assert found.where == ("gone",)
    assert found.severity == Severity.WARNING
    learns = a_run(loss=np.geomspace(2.3, 0.1, 200), param_norm=norms)
    assert [each.severity for each in shrinking_weights.check(learns)] == [Severity.NOTE]
