import pytest

from bedside.finding import NotExamined
from bedside.rules.stale_momentum import stale_momentum
from bedside.testing import a_run


def run(steps=500, **settings):
    return a_run(loss=[1.0] * steps, config={"optimizers": [{"name": "Adam", **settings}]})


def test_speaks_of_betas_in_the_wrong_order():
    [finding] = stale_momentum.check(run(betas=[0.999, 0.9]))
    assert "exchanged" in finding.message
    assert "betas=(0.9, 0.999)" in finding.try_[0]


@pytest.mark.parametrize(("momentum", "speaks"), [(0.9951, True), (0.9949, False)])
def test_speaks_of_a_long_momentum_alone(momentum, speaks):
    found = stale_momentum.check(run(momentum=momentum))
    assert ["momentum=0.9" in each.try_[0] for each in found] == [True] * speaks


@pytest.mark.parametrize(("steps", "speaks"), [(19_900, True), (20_100, False)])
def test_lets_a_run_be_that_is_twenty_memories_long(steps, speaks):
    assert bool(stale_momentum.check(run(steps, betas=[0.999, 0.999]))) is speaks


def test_stays_silent_at_the_usual_settings():
    assert not stale_momentum.check(run(betas=[0.9, 0.999]))
    assert not stale_momentum.check(run(momentum=0.0))


@pytest.mark.parametrize("known", [run(99, betas=[0.999, 0.9]), run(weight_decay=0.1), a_run(loss=[1.0] * 500)])
def test_needs_a_run_of_some_length_and_the_settings(known):
    assert isinstance(stale_momentum.examine(known), NotExamined)
