from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.unbalanced_loss_parts import unbalanced_loss_parts
from bedside.testing import a_run

NOISE = np.exp(0.05 * np.random.default_rng(0).standard_normal(200))
ERROR = {"made_by": "MseLoss", "reduction": "mean", "elements": 4096, "weight": 1.0, "per_element": 1 / 4096}
KL = {"made_by": "Mul", "reduction": "sum", "elements": 384, "weight": 1.0, "per_element": 1.0}


def run(variation, *terms):
    events = [Event(0, "loss_terms", {"terms": list(terms)})] if terms else []
    return a_run(loss=0.1, reconstruction_variation=variation * NOISE, events=events)


def test_names_the_sum_that_drowns_the_mean():
    [found] = unbalanced_loss_parts.check(run(np.full(200, 0.05), ERROR, KL))
    assert found.severity == Severity.WARNING
    assert "a sum over 384 elements to a mean over 4,096" in found.message
    assert "by 2e-4" in found.try_[1]


def test_is_silent_when_both_are_sums_or_nothing_is_lost():
    summed = ERROR | {"reduction": "sum", "per_element": 1.0}
    assert not unbalanced_loss_parts.check(run(np.full(200, 0.05), summed, KL))
    assert not unbalanced_loss_parts.check(run(np.full(200, 0.6), ERROR, KL))
    assert not unbalanced_loss_parts.check(run(np.full(200, 0.05)))


def both(judge, forger):
    levels = {"part/d_loss": judge, "part/g_loss": forger}
    run = a_run(loss=1.0, **{name: [1.0] * 5 + [level] * 20 for name, level in levels.items()})
    return [each for each in unbalanced_loss_parts.check(run) if "Both players win" in each.message]


def test_speaks_of_a_game_that_nobody_loses():
    [finding] = both(0.04, 0.04)
    assert "label of real samples" in finding.try_[0]


def test_stays_silent_where_one_of_them_still_pays():
    assert not both(0.04, 0.06)
    assert not both(0.06, 0.04)
    assert not both(0.01, -0.3)


def two_tasks(large, small, *, weight=1.0, shared=True, learned=False, loss=None, steps=200):
    facts = [
        {"name": name, "weight": None if learned else each, "learned": learned}
        for name, each in (("mse_loss", weight), ("cross_entropy", 1.0))
    ]
    curves = {name: np.linspace(*ends, 20).repeat(steps // 20) for name, ends in
              (("mse_loss", large), ("cross_entropy", small))}  # fmt: skip
    run = a_run(
        loss=curves["mse_loss"] * weight + curves["cross_entropy"] if loss is None else np.geomspace(*loss, steps),
        task_loss=curves,
        events=[Event(0, "tasks", {"tasks": facts, "shared": shared})],
    )
    return list(unbalanced_loss_parts.check(run))


def test_speaks_of_a_task_that_another_one_drowns():
    [found] = two_tasks((900.0, 20.0), (1.8, 1.75))
    assert "mse_loss began at 900 and cross_entropy at 1.8" in found.message
    assert "mean 0 and spread 1" in found.try_[0]


def test_tasks_of_one_size_drown_nobody():
    assert not two_tasks((50.0, 1.0), (1.8, 1.75))
    assert two_tasks((60.0, 1.0), (1.8, 1.75))
    assert not two_tasks((900.0, 20.0), (1.8, 1.75), weight=0.01)


def test_a_task_that_learned_was_not_drowned():
    assert not two_tasks((900.0, 20.0), (1.8, 1.5))


def test_nothing_is_drowned_where_nothing_is_learned_or_nothing_shared():
    assert not two_tasks((900.0, 600.0), (1.8, 1.75))
    assert not two_tasks((900.0, 20.0), (1.8, 1.75), shared=False)
    assert not two_tasks((900.0, 20.0), (1.8, 1.75), steps=80)


def test_speaks_of_weights_that_are_learned_to_be_nothing():
    [found] = two_tasks((1.2, 0.8), (1.6, 1.4), learned=True, loss=(2.8, 0.003))
    assert "the weights that are learned along with them go to zero" in found.message
    assert "log_var" in found.try_[0]


def test_learned_weights_that_cost_something_are_no_fault():
    assert not two_tasks((1.2, 0.8), (1.6, 1.4), learned=True, loss=(2.8, 0.3))
    assert not two_tasks((1.2, 0.01), (1.6, 0.02), learned=True, loss=(2.8, 0.003))
    assert not two_tasks((1.2, 0.8), (1.6, 1.4), loss=(2.8, 0.003))


def of(kind, step=300, **facts):
    run = a_run(loss=[1.0] * 400, events=[Event(step, kind, facts)])
    found = unbalanced_loss_parts.examine(run)
    return [] if isinstance(found, NotExamined) else found


@pytest.mark.parametrize(
    ("weight", "summed"),
    [(64.0, "log-determinant is summed"), (1 / 64, "base density is summed"), (1.0, ""), (2.0, "")],
)
def test_a_flow_must_count_what_it_stretches_and_how_much_alike(weight, summed):
    found = [each.message for each in of("stretching", weight=weight, numbers=64)]
    assert len(found) == bool(summed)
    assert all(summed in each for each in found)


def test_of_a_single_number_sum_and_mean_are_the_same():
    assert not of("stretching", weight=1.0, numbers=1)


@pytest.mark.parametrize(("weight", "size", "speaks"), [(9e-4, 3.1, True), (1.1e-3, 3.1, False), (9e-4, 2.9, False)])
def test_speaks_of_a_code_that_nothing_holds_near_the_prior(weight, size, speaks):
    found = of("code_divergence", weight=weight, size=size, varies=size)
    assert [("no code" in each.message) for each in found] == [True] * speaks


@pytest.mark.parametrize(
    ("weight", "varies", "step", "speaks"),
    [(31, 0.09, 300, True), (29, 0.09, 300, False), (31, 0.11, 300, False), (31, 0.09, 190, False)],
)
def test_speaks_of_a_divergence_that_empties_the_code(weight, varies, step, speaks):
    found = of("code_divergence", step=step, weight=weight, size=varies, varies=varies)
    assert [("counts 31 times" in each.message) for each in found] == [True] * speaks
