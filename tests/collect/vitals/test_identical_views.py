"""Views that are compared with each other, once and twice the same."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

ROWS = 12


def looks(tmp_path, step_loss, dropout=0.0, steps=30):
    model = nn.Sequential(nn.Linear(16, 32), nn.Dropout(dropout), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        step_loss(model, torch.randn(ROWS, 16)).backward()
        optimizer.step()

    events = watched(model, optimizer, tmp_path, body, steps=steps).events_of("views_compared")
    return [event.data["same"] for event in events]


def joined(second):
    def loss(model, x):
        z = F.normalize(model(torch.cat([x, second(x)])), dim=1)
        scores = (z @ z.T / 0.2).masked_fill(torch.eye(2 * ROWS, dtype=torch.bool), -1e9)
        return F.cross_entropy(scores, torch.cat([torch.arange(ROWS) + ROWS, torch.arange(ROWS)]))

    return loss


def twice(second):
    def loss(model, x):
        return F.cross_entropy(model(x) @ model(second(x)).T, torch.arange(ROWS))

    return loss


def altered(x):
    return x + 0.1 * torch.randn_like(x)


@pytest.mark.parametrize("way", [joined, twice])
def test_the_same_view_twice_is_seen_and_two_views_are_not(tmp_path, way):
    assert looks(tmp_path / "same", way(lambda x: x)) == [1.0, 1.0, 1.0]
    assert looks(tmp_path / "two", way(altered)) == [0.0, 0.0, 0.0]


def test_dropout_makes_views_of_its_own(tmp_path):
    assert max(looks(tmp_path, twice(lambda x: x), dropout=0.3)) == 0.0


def test_one_output_against_another(tmp_path):
    assert looks(tmp_path / "same", lambda model, x: F.mse_loss(model(x), model(x))) == [1.0] * 3
    assert looks(tmp_path / "two", lambda model, x: F.mse_loss(model(x), model(altered(x)))) == [0.0] * 3


def test_losses_with_an_ordinary_target_are_let_be(tmp_path):
    labels = torch.randint(0, 8, (ROWS,))
    assert not looks(tmp_path, lambda model, x: F.cross_entropy(model(x), labels) + F.cross_entropy(model(x), labels))
