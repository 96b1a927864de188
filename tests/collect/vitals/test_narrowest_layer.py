"""The narrowest place of the network."""

from __future__ import annotations

import itertools

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.narrowest_layer import narrowest


def mlp(*widths, **options):
    layers = [(nn.Linear(a, b, **options), nn.Tanh()) for a, b in itertools.pairwise(widths)]
    return nn.Sequential(*[each for pair in layers for each in pair][:-1])


@pytest.mark.parametrize(("widths", "expected"), [((6, 8, 2, 8, 5), 2), ((6, 1, 5), 1), ((2, 8, 5), 8), ((6, 8, 3), 8)])
@pytest.mark.parametrize("options", [{}, {"bias": False}])
def test_it_is_the_narrowest_layer_but_not_the_input_or_the_answer(widths, expected, options):
    assert narrowest(mlp(*widths, **options)(torch.randn(4, widths[0]))) == expected


def test_channels_are_counted_at_every_pixel_until_they_are_pooled():
    front = [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()]
    images = torch.randn(4, 1, 8, 8)
    assert narrowest(nn.Sequential(*front, nn.Flatten(), nn.Linear(72, 5))(images)) == 72
    pooled = nn.Sequential(
        *front, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(2, 5), nn.LogSoftmax(1)
    )
    assert narrowest(pooled(images)) == 2


def test_weights_that_are_rounded_for_the_product_are_weights():
    with torch.autocast("cpu", torch.bfloat16):
        assert narrowest(mlp(6, 8, 2, 5)(torch.randn(4, 6))) == 2


class Beside(nn.Module):
    """A narrow branch beside the main way: a gate, an adapter."""

    def __init__(self):
        super().__init__()
        self.front, self.down, self.up, self.head = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(1, 8), nn.Linear(8, 5)

    def forward(self, x):
        x = self.front(x)
        return self.head(x + self.up(torch.relu(self.down(x))))


def test_a_narrow_branch_beside_another_is_no_narrow_place():
    assert narrowest(Beside()(torch.randn(4, 6))) == 8


def test_a_linear_model_has_no_inside():
    assert narrowest(nn.Linear(6, 5)(torch.randn(4, 6))) == 0


def test_a_watched_run_knows_it(tmp_path):
    model = mlp(6, 8, 2, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 5, (4,))).backward()
        optimizer.step()

    assert watched(model, optimizer, tmp_path, body).config["narrowest"] == 2
