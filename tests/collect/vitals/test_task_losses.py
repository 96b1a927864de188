"""The losses of several tasks that are added up, from the graph of their sum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.task_losses import facts_of, loss_of, names_of, tasks_of

SHARED = nn.Parameter(torch.randn(8, 6))
OTHER = nn.Parameter(torch.randn(8, 6))
UNCERTAINTY = nn.Parameter(torch.zeros(2))
NUMBERS, LABELS = torch.rand(8, 6), torch.randint(0, 6, (8,))


def cross_entropy():
    return F.cross_entropy(SHARED, LABELS)


def error(reduction="mean"):
    return F.smooth_l1_loss(SHARED, NUMBERS, reduction=reduction)


LOSSES = {
    "a sum": (lambda: cross_entropy() + error(), {"cross_entropy": 1.0, "smooth_l1_loss": 1.0}, False),
    "weighted": (
        lambda: (0.5 * cross_entropy() + 10 * error()) / 4,
        {"cross_entropy": 0.5, "smooth_l1_loss": 10.0},
        False,
    ),
    "by hand": (
        lambda: cross_entropy() - 2 * (SHARED - NUMBERS).pow(2).mean() + (NUMBERS - SHARED).abs().mean(),
        {"cross_entropy": 1.0, "squared error": None, "absolute error": None},
        False,
    ),
    "masked": (
        lambda: cross_entropy() + (error("none") * (NUMBERS > 0.5)).sum(),
        {"cross_entropy": 1.0, "smooth_l1_loss": None},
        False,
    ),
    "learned weights": (
        lambda: (torch.stack([cross_entropy(), error()]) * (-UNCERTAINTY).exp()).sum(),
        {"cross_entropy": None, "smooth_l1_loss": None},
        True,
    ),
    "a penalty": (lambda: cross_entropy() + SHARED.abs().sum() + SHARED.pow(2).mean(), {"cross_entropy": 1.0}, False),
    "an embedding that is compared with another": (
        lambda: cross_entropy() + F.mse_loss(SHARED, OTHER),
        {"cross_entropy": 1.0},
        False,
    ),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_tasks_are_told_with_their_weights(kind):
    make, expected, learned = LOSSES[kind]
    found = tasks_of(make().grad_fn)
    assert dict(zip(names_of(found), [task.weight for task in found], strict=True)) == expected
    assert all(task.learned == learned for task in found)


TASKS = {
    "cross_entropy": lambda: F.cross_entropy(SHARED, LABELS),
    "binary": lambda: F.binary_cross_entropy_with_logits(SHARED, NUMBERS),
    "of probabilities": lambda: F.binary_cross_entropy(SHARED.sigmoid(), NUMBERS),
    "mse_loss": lambda: F.mse_loss(SHARED, NUMBERS),
    "smooth": lambda: F.smooth_l1_loss(SHARED, NUMBERS),
    "huber": lambda: F.huber_loss(SHARED, NUMBERS),
    "squared by hand": lambda: (SHARED - NUMBERS).pow(2).mean(),
    "absolute": lambda: F.l1_loss(SHARED, NUMBERS),
    "of pixels": lambda: F.cross_entropy(SHARED.view(2, 6, 2, 2), LABELS.view(2, 2, 2)),
    "one sample": lambda: F.cross_entropy(SHARED[0], LABELS[0]),
}


@pytest.mark.parametrize("kind", TASKS)
def test_the_loss_of_a_task_is_what_its_function_returned(kind):
    loss = TASKS[kind]()
    [task] = tasks_of(loss.grad_fn)
    assert loss_of(task.node).item() == pytest.approx(loss.item(), rel=1e-5)


def test_tasks_share_parameters_or_they_do_not():
    assert facts_of(tasks_of((cross_entropy() + error()).grad_fn))["shared"]
    apart = cross_entropy() + F.mse_loss(OTHER, NUMBERS)
    assert not facts_of(tasks_of(apart.grad_fn))["shared"]


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.kind, self.number = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, x):
        h = self.trunk(x).relu()
        return self.kind(h), self.number(h).squeeze(1)


def train(tmp_path, loss_of_both, steps=60):
    model = TwoHeads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    truth = []

    def body(step, monitor):
        scores, number = model(torch.randn(16, 6))
        parts = F.cross_entropy(scores, torch.randint(0, 3, (16,))), F.mse_loss(number, 100 * torch.ones(16))
        truth.append([part.item() for part in parts])
        optimizer.zero_grad()
        loss_of_both(*parts).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=steps), np.asarray(truth)


def test_the_record_has_what_each_loss_function_returned(tmp_path):
    run, truth = train(tmp_path, lambda kind, number: kind + 0.1 * number)
    for name, column in zip(("cross_entropy", "mse_loss"), truth.T, strict=True):
        series = run.series("task_loss", name)
        assert len(series) >= 30
        np.testing.assert_allclose(series.values, column[series.steps], rtol=1e-4)
    [event] = run.events_of("tasks")
    assert [task["weight"] for task in event.data["tasks"]] == [1.0, pytest.approx(0.1)]
    assert event.data["shared"]


def test_a_single_task_is_not_recorded(tmp_path):
    run, _ = train(tmp_path, lambda kind, number: kind, steps=20)
    assert not run.events_of("tasks")
    assert not run.of("task_loss")
