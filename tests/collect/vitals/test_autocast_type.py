"""The type that training forwards are cast to is recorded, once; evaluations and full precision record nothing."""

import pytest
import torch
from torch import nn

import bedside


def train(tmp_path, dtype=None, steps=6):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                out = model(torch.randn(3, 4))
            out.float().square().mean().backward()
            optimizer.step()
    return bedside.load(tmp_path / "run").config


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_tells_the_type_of_training_forwards(tmp_path, dtype):
    assert train(tmp_path, dtype)["autocast"] == str(dtype).removeprefix("torch.")


def test_tells_nothing_in_full_precision(tmp_path):
    assert "autocast" not in train(tmp_path)
