"""Whether anything lies between the layers of a network."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.linear_network import linear_layers


def test_a_watched_network_without_activations_is_told_with_its_layers(tmp_path):
    model = nn.Sequential(nn.Linear(6, 8), nn.Identity(), nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=3)
    assert [event.data["layers"] for event in run.events_of("linear_network")] == [3]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.inner(x, x, x)[0])


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.one(x) * self.other(x))


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)),
        nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 6)),  # a code
        nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)),
        nn.Linear(6, 3),
        Attention(),
        Gated(),
    ],
)
def test_others_have_something_between_their_layers_or_only_one(model):
    assert linear_layers(model(torch.randn(4, 5, 6)).grad_fn) < 2


def test_convolutions_and_batch_normalisation_alone_are_linear_too():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 36, 4))
    assert linear_layers(model(torch.randn(4, 3, 8, 8)).softmax(1).grad_fn) == 2
