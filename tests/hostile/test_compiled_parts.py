"""Programs that compile a part of themselves: it is compiled as it would be alone, as often, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.nn import functional as F

import bedside

STEPS = 40


@pytest.fixture(autouse=True)
def _afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Samples are taken often, from the first step on."""
    monkeypatch.setattr("bedside.collect.sampling.budget.FULL_RECORDING_SHARE", 0.0)
    monkeypatch.setattr("bedside.collect.sampling.budget.QUICK_STEP_SECONDS", 0.0)
    yield
    torch._dynamo.reset()


def fully(function: Any) -> Any:
    """Compiled, and torch raises where that is not possible as a whole."""
    return torch.compile(function, backend="eager", fullgraph=True)


def layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 3))


class Decorated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = layers()
        self.inner = fully(self._inner)

    def _inner(self, x: Tensor) -> Tensor:
        return F.relu(self.layers[1](x)) * 2

    def forward(self, x: Tensor) -> Any:
        return self.layers[2](self.inner(self.layers[0](x)))


def an_inner_function(model: nn.Module, step: int) -> None:
    """It is compiled by the first forward, which is sampled."""


def a_block_later(model: nn.Module, step: int) -> None:
    if step == 7:
        model[1] = fully(model[1])


def around_the_model(model: nn.Module, step: int) -> None:
    if step == 0:
        model.compiled = fully(lambda x: model.forward(x))  # no attribute of torch's: not a part of the model


def trained(make: Callable[[], nn.Module], change: Callable[..., None], folder: Path | None, **options: Any) -> Any:
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True, **options) if folder else None
    for step in range(STEPS):
        change(model, step)
        optimizer.zero_grad()
        called = vars(model).get("compiled", model)
        F.cross_entropy(called(torch.randn(5, 6)), torch.randint(3, (5,))).backward()
        optimizer.step()
    if monitor is not None:
        assert not monitor.dispatcher.off
        monitor.close()
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    return weights, counters["stats"]["unique_graphs"], torch.get_rng_state()


@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
@pytest.mark.parametrize("budget", [0.01, None])
@pytest.mark.parametrize(
    ("make", "change"), [(Decorated, an_inner_function), (layers, a_block_later), (layers, around_the_model)]
)
def test_a_part_of_the_model(
    make: Callable[[], nn.Module], change: Callable[..., None], budget: float | None, tmp_path: Path
) -> None:
    weights, graphs, random = trained(make, change, None)
    again, compiled, drawn = trained(make, change, tmp_path / "run", budget=budget)
    assert not counters["graph_break"]
    assert graphs >= 1
    assert compiled == graphs, "compiled as often"
    assert all(map(torch.equal, weights, again))
    assert torch.equal(random, drawn)


def stepped(folder: Path | None, **options: Any) -> Any:
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    model = layers()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True, **options) if folder else None
    step = torch.compile(optimizer.step, backend="eager")
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,))).backward()
        step()
    if monitor is not None:
        assert not monitor.dispatcher.off
        monitor.close()
    return [p.detach().clone() for p in model.parameters()], counters["stats"]["unique_graphs"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"on_nan": "skip"}], ids=["as usual", "guarded"])
def test_steps_of_the_optimizer(tmp_path: Path, options: dict[str, Any]) -> None:
    weights, graphs = stepped(None)
    with pytest.warns(RuntimeWarning, match="The steps of Adam are compiled"):
        again, compiled = stepped(tmp_path / "run", **options)
    assert compiled == graphs
    assert all(map(torch.equal, weights, again))
    found = bedside.diagnose(tmp_path / "run")
    assert "LOP110" not in {finding.code for finding in found.findings}, "they were taken"
    assert found.verdict == "unclear"
    assert "The steps of Adam are compiled, so they were not followed." in found.notes
