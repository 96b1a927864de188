"""An optimizer that the trainer builds anew is watched like the one before it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import norm
from tests.collect.watched import recorded
from torch.nn import functional as F

import bedside


def train(model, optimizer, steps, truth):
    for _ in range(steps):
        inputs, targets = CASES["mlp"].batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        old = [p.detach().clone() for p in model.parameters()]
        optimizer.step()
        moved = norm([a - b for a, b in zip(old, model.parameters(), strict=True)])
        truth.append((loss.item(), optimizer.param_groups[0]["lr"], moved))


def watch(tmp_path, **options):
    torch.manual_seed(0)
    model = CASES["mlp"].model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, **options)


@pytest.mark.parametrize("steps", [20, 150])
@pytest.mark.parametrize("nesterov", [True, False])
def test_steps_go_on_with_the_new_one(steps, nesterov, tmp_path):
    model, optimizer, monitor = watch(tmp_path)
    truth = []
    train(model, optimizer, steps, truth)
    for rate in (0.01, 0.003):
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=nesterov)
        train(model, optimizer, steps, truth)
    run = recorded(monitor)
    losses, rates, moved = np.asarray(truth).T
    np.testing.assert_allclose(run.series("loss").values, losses, rtol=1e-5)
    np.testing.assert_allclose(run.series("lr").values, rates)
    updates = run.series("update_norm")
    np.testing.assert_allclose(updates.values, moved[updates.steps], rtol=1e-4)
    assert [event.step for event in run.events_of("optimizer_rebuilt")] == [steps - 1, 2 * steps - 1]


def test_an_optimizer_that_is_never_stepped_changes_nothing(tmp_path):
    model, optimizer, monitor = watch(tmp_path)
    truth = []
    train(model, optimizer, 5, truth)
    spare = torch.optim.Adam(model.parameters())
    train(model, optimizer, 5, truth)
    run = recorded(monitor)
    assert len(run.loss) == 10
    assert not run.events_of("optimizer_rebuilt")
    assert not spare._optimizer_step_pre_hooks


def test_another_models_optimizer_is_left_alone(tmp_path):
    model, optimizer, monitor = watch(tmp_path)
    other = CASES["mlp"].model()
    foreign = torch.optim.Adam(other.parameters())
    assert not foreign._optimizer_step_pre_hooks
    train(other, foreign, 3, [])
    train(model, optimizer, 3, [])
    assert len(recorded(monitor).loss) == 3


def test_one_that_steps_beside_the_old_one_does_not_take_its_place(tmp_path):
    model, optimizer, monitor = watch(tmp_path)
    beside = torch.optim.SGD(model[0].parameters(), lr=1e-3)
    for _ in range(5):
        train(model, optimizer, 1, [])
        beside.step()
    run = recorded(monitor)
    assert len(run.loss) == 5
    assert not run.events_of("optimizer_rebuilt")


def test_nothing_is_left_when_watching_ends(tmp_path):
    model, optimizer, monitor = watch(tmp_path)
    made = torch.optim.Optimizer.__init__
    new = torch.optim.SGD(model.parameters(), lr=0.01)
    train(model, new, 3, [])
    monitor.close()
    for each in (optimizer, new):
        assert not each._optimizer_step_pre_hooks
        assert not each._optimizer_step_post_hooks
    assert torch.optim.Optimizer.__init__ is not made
