"""Cosine and noise scale, against whole gradients and against a model whose noise is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def test_the_cosine_is_that_of_the_whole_gradients(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gradients = []

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(4, 10)).square().mean().backward()
        gradients.append(torch.cat([p.grad.flatten().double() for p in model.parameters()]))
        optimizer.step()

    cosines = watched(model, optimizer, tmp_path, body, 6).series("gradient_cosine")
    expected = [torch.cosine_similarity(a, b, dim=0) for a, b in pairwise(gradients)]
    assert cosines.steps.tolist() == [1, 2, 3, 4, 5]
    assert cosines.values.tolist() == pytest.approx([float(e) for e in expected], rel=1e-5)


def test_large_gradients_are_estimated_from_a_few_elements(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 200))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    gradients = []

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(64, 300) + 1).square().mean().backward()
        gradients.append(torch.cat([p.grad.flatten().double() for p in model.parameters()]))
        optimizer.step()

    cosines = watched(model, optimizer, tmp_path, body, 10).series("gradient_cosine").values
    expected = [float(torch.cosine_similarity(a, b, dim=0)) for a, b in pairwise(gradients)]
    assert np.mean(cosines) == pytest.approx(np.mean(expected), abs=0.05)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_noise_scale_of_a_known_noise_is_found(noise, tmp_path):
    """The gradient of `w · (1 + noise)` is one vector plus noise: signal 1 per element, noise² per element."""
    torch.manual_seed(0)

    class Line(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(1000))

        def forward(self, x):
            return (self.w * x).sum()

    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def body(step, monitor):
        optimizer.zero_grad()
        model(1 + noise * torch.randn(1000)).backward()
        optimizer.step()

    scale = watched(model, optimizer, tmp_path, body, 60).series("gradient_noise").last
    assert scale == pytest.approx(noise**2, rel=0.15)


def test_opposite_gradients_have_no_signal_and_so_no_scale(tmp_path):
    model = nn.Linear(4, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def body(step, monitor):
        optimizer.zero_grad()
        (model(torch.ones(1, 4)).sum() * (-1) ** step).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 5)
    assert run.series("gradient_cosine").values.tolist() == pytest.approx([-1.0] * 4)
    assert not run.series("gradient_noise")
