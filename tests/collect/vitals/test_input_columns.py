"""Mean and spread of each column of a table."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

OFFSETS = torch.tensor([0.0, 5.0, 100.0, 7.0])
WIDTHS = torch.tensor([1.0, 0.5, 2.0, 0.0])


def seen(tmp_path, shape=(4,), *, first=None):
    model = nn.Sequential(*([first] if first is not None else []), nn.Flatten(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    data = OFFSETS + WIDTHS * torch.randn(400, 4, generator=torch.Generator().manual_seed(0))

    def body(step, monitor):
        optimizer.zero_grad()
        model(data[64 * step :][:64].reshape(-1, *shape)).pow(2).mean().backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body).config.get("input_columns"), data[:256].double()


def test_each_column_is_measured_in_its_own_spread(tmp_path):
    seen_, data = seen(tmp_path)
    away = (data.mean(0).abs() / data.std(0, correction=0))[:3].sort().values
    assert seen_["columns"] == 3  # a column that is always the same says nothing
    assert seen_["away"] == pytest.approx(float(away[1]))
    assert seen_["widest"] == pytest.approx(float(data.std(0, correction=0).max()))


@pytest.mark.parametrize("case", [{"shape": (2, 2)}, {"first": nn.BatchNorm1d(4)}])
def test_pictures_and_what_is_normalised_at_once_are_left_alone(tmp_path, case):
    assert seen(tmp_path, **case)[0] is None
