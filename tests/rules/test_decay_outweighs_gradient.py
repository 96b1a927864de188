import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.decay_outweighs_gradient import decay_outweighs_gradient
from bedside.testing import a_run

ADAM = {"name": "Adam", "weight_decay": 0.1, "decoupled_weight_decay": False}


def run(gradient=0.2, weights=60.0, steps=60, several=False, **changed):
    settings = [ADAM | changed] * (2 if several else 1)
    return a_run(loss=[1.7] * steps, grad_norm=gradient, param_norm=weights, config={"optimizers": settings})


@pytest.mark.parametrize(("weights", "speaks"), [(6.1, True), (5.9, False)])
def test_speaks_when_the_decay_is_three_times_the_gradient(weights, speaks):
    found = decay_outweighs_gradient.check(run(weights=weights))
    assert ["AdamW" in each.try_[0] for each in found] == [True] * speaks


def test_advises_sgd_to_take_less():
    [finding] = decay_outweighs_gradient.check(run(name="SGD"))
    assert "AdamW" not in finding.try_[0]


def test_stays_silent_when_the_gradient_faded_as_the_network_learned():
    assert not decay_outweighs_gradient.check(run(gradient=[20.0] * 10 + [0.01] * 50))


@pytest.mark.parametrize("changed", [{"decoupled_weight_decay": True}, {"name": "AdamW"}, {"weight_decay": 0}])
def test_stays_silent_where_decay_is_not_added_to_the_gradient(changed):
    assert not decay_outweighs_gradient.check(run(**changed))
    assert not decay_outweighs_gradient.check(run(several=True))


@pytest.mark.parametrize("short", [run(steps=19), a_run(loss=[1.0] * 60, grad_norm=1.0, param_norm=1.0)])
def test_needs_readings_and_the_settings(short):
    assert isinstance(decay_outweighs_gradient.examine(short), NotExamined)


def penalised(total=3.41, factor=0.03, weights=12864, of_weights=True, made_by="Abs"):
    """0.03 times the root of 12,864 is 3.4."""
    l1 = {"made_by": made_by, "reduction": "sum", "elements": weights, "per_element": factor, "of_weights": of_weights}
    data = {"made_by": "NllLoss", "reduction": "mean", "elements": 64, "per_element": 1 / 64, "of_weights": False}
    found = a_run(
        loss=1.0, steps=60, grad_norm=total, param_norm=4.0, events=[Event(0, "loss_terms", {"terms": [data, l1]})]
    )
    return list(decay_outweighs_gradient.check(found))


def test_speaks_of_a_penalty_that_is_all_of_the_gradient():
    [found] = penalised()
    assert "the absolute values of 12,864 weights: their gradient is 3.4 at every step" in found.message


@pytest.mark.parametrize(("total", "speaks"), [(3.58, True), (3.6, False), (3.05, False), (1.0, False)])
def test_stays_silent_where_the_data_have_a_third_as_much(total, speaks):
    """A gradient smaller than the penalty's is one that the data hold against."""
    assert bool(penalised(total)) == speaks


def test_stays_silent_where_the_penalty_took_over_when_the_data_were_learned_or_is_none():
    assert not penalised(total=[5.0] * 10 + [3.41] * 50)
    assert not penalised(factor=3e-4)
    assert not penalised(of_weights=False)
    assert not penalised(made_by="Pow")
