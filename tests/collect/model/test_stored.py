"""What is watched is never asked: properties that raise, draw or count are not read, and nothing is switched off."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

from bedside.collect.model.stored import stored

ASKED: list[str] = []
NAMES = (
    *("config", "module", "dropout", "p", "drop_prob", "drop_rate", "track_running_stats", "weight_orig", "loss"),
    *("num_heads", "eps", "momentum", "is_encoder_decoder", "inplace", "original", "parametrizations_", "device"),
)


def asked(name):
    def read(self):
        ASKED.append(name)
        raise RuntimeError(f"{name} was asked")

    return property(read)


class DropoutLinear(nn.Linear):
    """Named like a dropout, whose rate people look for."""


for name in NAMES:
    setattr(DropoutLinear, name, asked(name))


class Draws(nn.Module):
    def forward(self, weight):
        ASKED.append("weight")
        return F.dropout(weight, 0.5, self.training)


def drop_connect():
    layer = nn.Linear(12, 12)
    parametrize.register_parametrization(layer, "weight", Draws())
    return layer


@pytest.mark.parametrize("make", [lambda: DropoutLinear(12, 12), drop_connect])
def test_no_property_of_a_module_is_read(make, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 12), nn.BatchNorm1d(12), nn.ReLU(), make(), nn.Linear(12, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reads = []

    def body(step, monitor):
        optimizer.zero_grad()
        ASKED.clear()
        loss = F.cross_entropy(model(torch.randn(6, 8)), torch.randint(3, (6,)))
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            model.eval()
            with monitor.validation(), torch.no_grad():
                monitor.log(val_loss=1.0)
            model.train()
        reads.append(list(ASKED))

    watched(model, optimizer, tmp_path, body, steps=24)
    own = ["weight"] if parametrize.is_parametrized(model[3]) else []
    assert reads == [own] * 24, "by the program's own forward, and by nobody else"


def test_stored_knows_parameters_buffers_and_attributes_and_computes_nothing():
    norm = nn.BatchNorm1d(3)
    assert stored(norm, "weight") is norm.weight
    assert stored(norm, "running_mean") is norm.running_mean
    assert stored(norm, "eps") == norm.eps
    assert stored(norm, "no such thing") is None
    assert stored(parametrizations.spectral_norm(nn.Linear(3, 3)), "weight") is None
