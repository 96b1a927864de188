"""The module in which a NaN was born is named, at the step where it was born, and nothing is changed by looking."""

from __future__ import annotations

import math

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.record.sqlite.reader import open_run

BAD_STEP = 12


class Counting(nn.Module):
    """Breaks at one call only, and only if it counts right."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.log(x - 1e6) if self.calls == BAD_STEP + 1 else x


class CountingInABuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return x / 0 * 0 if self.calls == BAD_STEP + 1 else x


class OfTheBatch(nn.Module):
    def forward(self, x):
        return x * float("nan") if x.shape[0] == 13 else x


class Outer(nn.Module):
    """A NaN made between two children belongs to neither of them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        x = self.one(x)
        if len(x) == 13:
            x = torch.sqrt(-x.abs() - 1)
        return self.two(x)


def net(culprit):
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), culprit, nn.Linear(16, 16), nn.Linear(16, 10)
    )


def train(model, tmp_path, *, step_after_nan=True, poison=None, loss=F.cross_entropy, steps=BAD_STEP + 4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def body(step, monitor):
        x, y = torch.randn(13 if step == BAD_STEP else 16, 20), torch.randint(10, (16,))
        if step == BAD_STEP and poison is not None:
            x = poison(model, x)
        optimizer.zero_grad()
        value = loss(model(x), y[: len(x)])
        value.backward()
        if step_after_nan or value.isfinite():
            optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps)


@pytest.mark.parametrize("culprit", [Counting, CountingInABuffer, OfTheBatch])
def test_the_module_is_named_at_the_step_it_broke(culprit, tmp_path):
    first = train(net(culprit()), tmp_path).events_of("origin")[0]
    assert first.step == BAD_STEP
    assert first.data["kind"] == "module"
    assert (first.data["module"], first.data["class"]) == ("4", culprit.__name__)
    assert first.data["inputs_finite"]
    assert first.data["weights"] == []


def test_a_nan_made_between_two_children_is_their_parents(tmp_path):
    first = train(net(Outer()), tmp_path).events_of("origin")[0]
    assert (first.data["module"], first.data["before"]) == ("4", "4.two")


def test_a_bad_batch_is_told_from_a_bad_module(tmp_path):
    def poison(model, x):
        x[3, 5] = float("nan")
        return x

    first = train(net(nn.Identity()), tmp_path, poison=poison).events_of("origin")[0]
    assert (first.step, first.data["kind"]) == (BAD_STEP, "input")


def test_bad_weights_are_told_from_a_bad_module(tmp_path):
    def poison(model, x):
        model[5].weight.data[0, 0] = float("nan")
        return x

    first = train(net(nn.Identity()), tmp_path, poison=poison).events_of("origin")[0]
    assert (first.data["kind"], first.data["module"], first.data["weights"]) == ("weights", "5", ["5.weight"])


def test_an_overflow_that_becomes_nan_in_the_loss_is_the_modules(tmp_path):
    class Exponential(nn.Module):
        def forward(self, x):
            return torch.exp(1000 * x.abs() + 1) if len(x) == 13 else x

    first = train(net(Exponential()), tmp_path).events_of("origin")[0]
    assert (first.data["kind"], first.data["module"]) == ("module", "4")


def test_a_loss_function_that_ignores_every_label_is_told_from_the_model(tmp_path):
    def loss(output, y):
        return F.cross_entropy(output, torch.full_like(y, -100) if len(y) == 13 else y)

    first = train(net(nn.Identity()), tmp_path, loss=loss).events_of("origin")[0]
    assert first.data["kind"] == "loss"
    assert first.data["labels_all_ignored"] is True


def test_the_step_before_is_blamed_when_the_weights_are_all_bad(tmp_path):
    later = train(net(OfTheBatch()), tmp_path).events_of("origin")[-1]
    assert later.step == BAD_STEP + 3
    assert later.data["kind"] == "weights"
    assert len(later.data["weights"]) >= 6


def test_a_forward_that_cannot_be_repeated_is_not_and_the_module_is_named_all_the_same(tmp_path):
    batches = iter(range(BAD_STEP + 1))

    class Eats(nn.Module):
        def forward(self, x):
            return x * (float("nan") if next(batches) == BAD_STEP else 1.0)

    run = train(net(Eats()), tmp_path, steps=BAD_STEP + 1)
    first = run.events_of("origin")[0]
    assert (first.step, first.data["kind"], first.data["module"]) == (BAD_STEP, "module", "4")
    assert not run.events_of("switched_off")
    assert "uses `batches`, an iterator" in run.events_of("not_probed")[0].data["why"]


def everything(model):
    own = {f"{name}.{k}": v for name, m in model.named_modules() for k, v in vars(m).items() if isinstance(v, int)}
    return {**{k: v.clone() for k, v in model.state_dict().items()}, **own}


@pytest.mark.parametrize("culprit", [Counting, CountingInABuffer, OfTheBatch])
def test_the_hunt_changes_nothing(culprit, tmp_path):
    """Steps with a bad loss are left out, so that the run goes on after the hunt."""

    def run(watching):
        model = net(culprit())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) if watching else None
        torch.manual_seed(5)
        losses = []
        for step in range(BAD_STEP + 6):
            x, y = torch.randn(13 if step == BAD_STEP else 16, 20), torch.randint(10, (16,))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y[: len(x)])
            (loss / 2).backward(retain_graph=True)
            (loss / 2).backward()
            if loss.isfinite():
                optimizer.step()
            losses.append(loss.item())
        if monitor is not None:
            monitor.close()
        return everything(model), losses, torch.get_rng_state()

    plain, plain_losses, plain_random = run(False)
    seen, seen_losses, seen_random = run(True)
    assert len(open_run(tmp_path / "run").events_of("origin")) >= 1
    assert math.isnan(plain_losses[BAD_STEP])
    assert math.isfinite(plain_losses[-1])
    assert [x for x in plain_losses if x == x] == [x for x in seen_losses if x == x]
    assert torch.equal(plain_random, seen_random)
    assert plain.keys() == seen.keys()
    for name, value in plain.items():
        other = seen[name]
        assert torch.equal(value, other) if isinstance(value, torch.Tensor) else value == other, name


def test_no_hook_is_left_after_a_hunt(tmp_path):
    model = net(OfTheBatch())
    train(model, tmp_path)
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in model.modules())
