"""Tensors that the program packs away for the backward (offloading, recomputing) are unpacked by nobody but torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import bedside

STEPS = 60


def calls_of_hooks(folder: Path | None, **options: Any) -> tuple[list[int], list[Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    calls = [0, 0]

    def pack(tensor: Tensor) -> Tensor:
        calls[0] += 1
        return tensor

    def unpack(tensor: Tensor) -> Tensor:
        calls[1] += 1
        return tensor

    monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True, **options) if folder else None
    for step in range(STEPS):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            optimizer.zero_grad()
            reduction = "sum" if step % 3 else "mean"
            loss = F.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,)), reduction=reduction)
            (loss / 5 if step % 3 else loss).backward()
            optimizer.step()
    if monitor is not None:
        assert not monitor.dispatcher.off
        monitor.close()
    return calls, [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("budget", [0.01, None])
def test_hooks_for_saved_tensors_are_called_as_often_as_without_us(budget: float | None, tmp_path: Path) -> None:
    alone, weights = calls_of_hooks(None)
    watched, again = calls_of_hooks(tmp_path / "run", budget=budget)
    assert watched == alone
    assert all(map(torch.equal, weights, again))


def test_a_graph_that_is_gone_raises_what_torch_raises_and_recording_goes_on(tmp_path: Path) -> None:
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,)))
            loss.backward()
            with pytest.raises(RuntimeError, match="a second time"):
                loss.backward()
            optimizer.step()
        assert monitor.step == 5
        assert not monitor.dispatcher.off
