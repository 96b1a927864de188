"""Models that read in order, with and without their own place."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class Masked(nn.Module):
    """Each number from those before it; with `own`, from itself as well."""

    def __init__(self, own, size=16):
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(size, size))
        self.register_buffer("mask", torch.ones(size, size).tril(0 if own else -1))

    def forward(self, x):
        return (x.flatten(1) @ (self.weight * self.mask).T).reshape(x.shape)


def looks(tmp_path, model, shape=(16,), target=None, steps=40):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def body(step, monitor):
        x = (torch.rand(12, *shape) > 0.5).float()
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x), x if target is None else target(x)).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=steps).events_of("own_place_seen")


@pytest.mark.parametrize("shape", [(16,), (4, 4), (1, 4, 4)])
@pytest.mark.parametrize("own", [True, False])
def test_a_model_that_reads_in_order_may_not_see_its_own_place(tmp_path, shape, own):
    assert len(looks(tmp_path, Masked(own), shape)) == own


def test_an_autoencoder_is_let_be(tmp_path):
    assert not looks(tmp_path, nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16)))


def test_a_target_that_is_not_the_input_is_let_be(tmp_path):
    assert not looks(tmp_path, Masked(True), target=lambda x: 1 - x)


def test_the_training_goes_on_as_if_nobody_had_looked(tmp_path):
    weights = []
    for vitals in (None, []):
        torch.manual_seed(0)
        model = Masked(True)
        if vitals is None:
            looks(tmp_path, model)
        else:
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
            for _ in range(40):
                x = (torch.rand(12, 16) > 0.5).float()
                optimizer.zero_grad()
                F.binary_cross_entropy_with_logits(model(x), x).backward()
                optimizer.step()
        weights.append(model.weight.detach().clone())
    assert torch.equal(*weights)
