"""Faults that were met in the wild, each with the loop that showed it."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import bedside


class Scaled(nn.Module):
    """Takes a single number beside its batch, as models of transformers take `num_items_in_batch`."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, *, scale: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return self.linear(inputs) * scale


def steps(model, optimizer, count, forward=lambda model, x: model(x)):
    for _ in range(count):
        x = torch.randn(16, 4)
        loss = (forward(model, x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("number", [torch.tensor(1.0), torch.tensor(7)])
def test_a_single_number_among_the_arguments_is_not_taken_for_the_batch(tmp_path, number):
    torch.manual_seed(0)
    model = Scaled()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None):
        steps(model, optimizer, 60, lambda model, x: model(scale=number, inputs=x))
    run = bedside.load(tmp_path / "run")
    assert len(set(run.series("batch_fingerprint").values)) == 60
    assert run.series("input_std").median() == pytest.approx(1, abs=0.1)
    found = {each.name for each in bedside.diagnose(tmp_path / "run").findings}
    assert not found & {"repeated-batches", "unnormalised-input", "extreme-input"}


def test_losses_divided_by_the_tokens_of_the_whole_step_add_up(tmp_path):
    torch.manual_seed(0)
    model, losses = nn.Linear(4, 1), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        monitor.combine_losses("sum")
        for step in range(20):
            batches = [torch.randn(count + step, 4) for count in (8, 16, 4)]
            samples = sum(map(len, batches))
            optimizer.zero_grad()
            parts = [(model(x) - x.sum(1, keepdim=True)).square().sum() / samples for x in batches]
            for part in parts:
                part.backward()
            optimizer.step()
            losses.append(sum(part.item() for part in parts))
        with pytest.raises(bedside.BedsideError, match="No way to combine losses is called 'summ'"):
            monitor.combine_losses("summ")
    run = bedside.load(tmp_path / "run")
    assert run.loss.values == pytest.approx(losses, rel=1e-5)
    assert set(run.series("micro_batches").values) == {3}
    assert "unscaled-accumulation" not in {each.name for each in bedside.diagnose(tmp_path / "run").findings}


def test_an_optimizer_that_accelerate_has_prepared_can_be_watched(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    accelerator = accelerate.Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        steps(model, optimizer, 5)
    assert len(bedside.load(tmp_path / "run").loss) == 5


@pytest.mark.parametrize("wrong", [{"optimizer": "adam"}, {"vitals": ["grad_nrom"]}, {"sinks": ["tensorboard"]}])
def test_a_refused_watch_leaves_no_folder_that_blocks_the_second_try(tmp_path, wrong):
    model = nn.Linear(4, 1)
    right = {"optimizer": torch.optim.SGD(model.parameters(), lr=1e-2), "run_dir": tmp_path / "run", "quiet": True}
    with pytest.raises(bedside.BedsideError):
        bedside.watch(model, **(right | wrong))
    bedside.watch(model, **right).close()


class Rebuilding:
    """Builds an optimizer like the one it was given, inside of `train`."""

    def __init__(self, model, optimizer) -> None:
        self.model, self.optimizer = model, optimizer

    def train(self) -> None:
        self.optimizer = type(self.optimizer)(self.model.parameters(), lr=1e-2)
        steps(self.model, self.optimizer, 40)


def test_a_trainer_that_rebuilds_its_optimizer_is_seen_stepping(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        Rebuilding(model, optimizer).train()
    run = bedside.load(tmp_path / "run")
    assert (run.steps, len(run.loss), len(run.series("update_norm"))) == (40, 40, 40)
    assert set(run.series("lr").values) == {1e-2}
    assert "never-stepped" not in {each.name for each in bedside.diagnose(tmp_path / "run").findings}


def test_a_wrapper_around_the_watched_optimizer_is_no_other_optimizer(tmp_path):
    class Outer(torch.optim.Optimizer):
        def __init__(self, inner) -> None:
            super().__init__([p for group in inner.param_groups for p in group["params"]], {})
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    for watched in ("inner", "outer"):
        model = nn.Linear(4, 1)
        inner = torch.optim.SGD(model.parameters(), lr=1e-2)
        outer = Outer(inner)
        optimizer = inner if watched == "inner" else outer
        for group in outer.param_groups:
            group["lr"] = 1e-2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with bedside.watch(model, optimizer, run_dir=tmp_path / watched, quiet=True):
                steps(model, outer, 10)
        assert len(bedside.load(tmp_path / watched).loss) == 10
