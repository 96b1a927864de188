"""Units of (batch, channels, length) and of (batch, length, features) differ, whatever module returns them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn

from bedside.collect.reading.unit_axis import channels_come_second, unit_axis


class Residual(nn.Module):
    """A block as people write it: its output is not a child's."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.conv(x).relu())


class Swapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 3, padding=1)

    def forward(self, x):
        return self.conv(x.transpose(1, 2)).transpose(1, 2)


MODULES = {
    "conv": (nn.Conv1d(6, 8, 3), True),
    "conv, relu, dropout": (nn.Sequential(nn.Conv1d(6, 8, 3), nn.ReLU(), nn.Dropout(0.3)), True),
    "residual": (Residual(6), True),
    "group norm": (nn.Sequential(nn.Conv1d(6, 8, 3), nn.GroupNorm(2, 8), nn.GELU()), True),
    "pool": (nn.Sequential(nn.Conv1d(6, 8, 3), nn.AvgPool1d(2)), True),
    "linear": (nn.Sequential(nn.Linear(10, 8), nn.ReLU()), False),
    "norm": (nn.Sequential(nn.Linear(10, 8), nn.LayerNorm(8)), False),
    "there and back": (Swapped(), False),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_graph_tells_where_the_units_are(name):
    module, second = MODULES[name]
    inputs = torch.randn(4, 10, 6) if name == "there and back" else torch.randn(4, 6, 10)
    output = module(inputs)
    assert channels_come_second(output) is second
    assert unit_axis(output) == (1 if second else 2)


def test_the_lstm_has_its_features_last():
    assert channels_come_second(nn.LSTM(10, 5, batch_first=True)(torch.randn(4, 6, 10))[0]) is False


class Level(nn.Module):
    """Puts out the same at every place along the length, another number for every channel."""

    def __init__(self):
        super().__init__()
        self.block = Residual(5)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.block(x[:, :, None].expand(-1, -1, 7) * 1.0).mean(2))


def test_a_signal_that_is_level_along_its_length_has_channels_that_differ(tmp_path):
    torch.manual_seed(0)
    model = Level().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, expected = torch.randn(16, 5) * torch.arange(1.0, 6.0), []

    def body(step, monitor):
        optimizer.zero_grad()
        with torch.no_grad():
            out = model.block(inputs[:, :, None].expand(-1, -1, 7)).reshape(16, -1)
            left = out - out.mean(1, keepdim=True)
            expected.append(float((left.square().mean() / out.square().mean()).sqrt()))
        model(inputs).square().mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 12)
    np.testing.assert_allclose(run.series("unit_variation", "block").values, expected, rtol=1e-4)
