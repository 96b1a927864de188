"""Noisy samples beside the noise that is asked of them."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Linear(width + 1, width)

    def forward(self, x, t=None):
        return self.net(x if t is None else torch.cat([x, t[:, None].float() / 20], 1))


def seen(tmp_path, batch, steps=12, width=32, kind="asked_noise", told=True):
    model = Denoiser(width)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        given, t, wanted = batch()
        optimizer.zero_grad()
        output = model(given, t) if told else model(torch.cat([given, t[:, None] / 20], 1))
        F.mse_loss(output, wanted).backward()
        optimizer.step()

    events = watched(model, optimizer, tmp_path, body, steps=steps).events_of(kind)
    return events[0].data if events else None


def noised(share=1.0, same=True):
    t = torch.randint(1, 21, (48,))
    level = share * t[:, None] / 20
    noise = torch.randn(48, 32)
    given = (1 - level).sqrt() * torch.linspace(-1, 1, 32).roll(5) + level.sqrt() * noise
    return given, t if same else torch.randint(1, 21, (48,)), noise


def test_noise_that_goes_from_little_to_all_with_the_time_step(tmp_path):
    data = seen(tmp_path, noised)
    assert data["samples"] >= 256
    assert data["columns"] == 32
    assert data["most"] > 0.95
    assert data["by_time"] > 0.9


def test_the_correlation_is_that_of_each_sample_with_its_noise(tmp_path):
    torch.manual_seed(1)
    kept = []

    def batch():
        kept.append(noised(0.2))
        return kept[-1]

    data = seen(tmp_path, batch)
    every = [
        torch.corrcoef(torch.stack([given, noise]))[0, 1].item()
        for x, _, n in kept
        for given, noise in zip(x, n, strict=True)
    ]
    assert data["mean"] == pytest.approx(sum(every) / len(every), abs=0.03)  # not every batch was sampled


def test_time_steps_of_other_samples(tmp_path):
    assert abs(seen(tmp_path, lambda: noised(same=False))["by_time"]) < 0.3


@pytest.mark.parametrize("wanted", [torch.rand, lambda *size: torch.randn(*size).cumsum(1) / 4])
def test_targets_that_are_no_noise_are_let_be(tmp_path, wanted):
    assert seen(tmp_path, lambda: (torch.randn(48, 32), torch.arange(48), wanted(48, 32))) is None


def points(anew=False):
    t = torch.randint(1, 21, (256,))
    noise = torch.randn(256, 2)
    level = t[:, None] / 20
    given = (1 - level).sqrt() * (2 * torch.rand(256, 2) - 1) + level.sqrt() * noise
    return given, t, torch.randn(256, 2) if anew else noise


@pytest.mark.parametrize("told", [True, False])
def test_of_points_those_of_neighbouring_time_steps_are_taken_together(tmp_path, told):
    data = seen(tmp_path, points, width=2, told=told)
    assert data["columns"] == 2
    assert data["samples"] >= 2048
    assert data["most"] > 0.9
    assert data["by_time"] > 0.9


def test_points_with_noise_that_was_drawn_anew(tmp_path):
    assert abs(seen(tmp_path, lambda: points(anew=True), width=2)["mean"]) < 0.06


def test_points_whose_target_is_no_noise_are_let_be(tmp_path):
    def batch():
        given, t, _ = points()
        return given, t, torch.rand(256, 2)

    assert seen(tmp_path, batch, width=2) is None


def test_a_model_that_is_asked_for_its_input(tmp_path):
    def batch():
        given, t, _ = points()
        return given, t, given

    assert seen(tmp_path, batch, width=2, kind="asked_for_its_input")["columns"] == 2
    assert seen(tmp_path / "noise", points, width=2, kind="asked_for_its_input") is None
