"""Noisy samples beside the noise that is asked of them."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(33, 32)

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None].float() / 20], 1))


def seen(tmp_path, batch, steps=12):
    model = Denoiser()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        given, t, wanted = batch()
        optimizer.zero_grad()
        F.mse_loss(model(given, t), wanted).backward()
        optimizer.step()

    events = watched(model, optimizer, tmp_path, body, steps=steps).events_of("asked_noise")
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
