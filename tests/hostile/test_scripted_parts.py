"""Models of which parts were scripted or traced before they were watched, and optimizers inside foreign wrappers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.training.model_copy import NotCopied, model_copy


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def train(model: nn.Module, optimizer: Any, steps: int = 130) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
        optimizer.step()


PARTS = {
    "scripted": lambda: torch.jit.script(network()),
    "scripted part": lambda: nn.Sequential(torch.jit.script(network()), nn.Linear(3, 3)),
    "traced part": lambda: nn.Sequential(torch.jit.trace(network(), torch.ones(8, 6)), nn.Linear(3, 3)),
}


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize("which", PARTS)
def test_no_collector_fails_at_a_model_that_torchscript_made(which: str, tmp_path: Path) -> None:
    model = PARTS[which]()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        train(model, optimizer)
    run = bedside.load(tmp_path / "run")
    assert run.steps == 130
    assert not run.events_of("switched_off")
    with pytest.raises(NotCopied, match="scripted module"), model_copy(model):
        raise AssertionError


class Wrapper:
    """Hands out whatever the optimizer inside has, its hooks as well."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["optimizer"], name)


def test_an_optimizer_inside_wrappers_that_pass_everything_on_is_watched(tmp_path: Path) -> None:
    model = network()
    optimizer = Wrapper(Wrapper(torch.optim.SGD(model.parameters(), 0.1)))
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        train(model, optimizer, 10)
        assert monitor.step == 10


def test_a_wrapper_around_itself_is_refused(tmp_path: Path) -> None:
    endless = Wrapper(None)
    endless.optimizer = endless
    with pytest.raises(bedside.errors.BadModel):
        bedside.watch(network(), endless, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
