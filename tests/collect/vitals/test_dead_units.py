"""Dead units, against a mask kept over every position of every batch."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.reading.unit_inactivity import MIN_POSITIONS, MIN_SAMPLES


@pytest.fixture(autouse=True)
def same_numbers():
    """By chance one more unit may really be dead, in one of a few nets."""
    torch.manual_seed(1)


class Net(nn.Module):
    """A module, a function, a method and an in-place call; some units of each are dead by construction."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.act = nn.ReLU(inplace=True)
        self.one, self.two, self.three = nn.Linear(6, 20), nn.Linear(20, 20), nn.Linear(20, 10)
        with torch.no_grad():
            for layer, dead in ((self.conv, 2), (self.one, 5), (self.two, 10)):
                layer.bias.fill_(3.0)
                layer.bias[:dead] = -1e3

    def forward(self, x):
        x = self.act(self.conv(x)).mean((2, 3))
        x = F.relu(self.one(x))
        return self.three(self.two(x).relu())


def train(model, tmp_path, steps, batch=32, change=None, compiled=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        if change is not None:
            change(step)
        optimizer.zero_grad()
        (compiled or model)(torch.randn(batch, 1, 8, 8)).square().mean().backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps)


def test_every_way_to_call_relu_is_heard_and_dead_units_are_counted(tmp_path):
    run = train(Net(), tmp_path, steps=40)
    assert set(run.owners("alive_units")) == {"act", "relu", "relu#2"}
    assert run.series("dead_units", "act").last == 2
    assert run.series("dead_units", "relu").last == 5
    assert run.series("dead_units", "relu#2").last >= 10
    assert run.series("dead_fraction", "relu").last == pytest.approx(5 / 20)


def test_nothing_is_called_dead_before_enough_has_been_seen(tmp_path):
    run = train(Net(), tmp_path, steps=40)
    convolution, linear = run.series("dead_units", "act"), run.series("dead_units", "relu")
    assert convolution.first_step == MIN_SAMPLES - 1  # 36 pixels an image: positions come quickly
    assert linear.first_step == -(-MIN_POSITIONS // 32) - 1
    assert len(run.series("alive_units", "relu")) == 40


def test_counts_equal_a_mask_over_every_position(tmp_path):
    torch.manual_seed(0)
    model = Net()
    with torch.no_grad():
        model.one.bias.copy_(torch.linspace(-3, 1, 20))  # from never to always
    seen = []
    model.one.register_forward_hook(lambda m, args, out: seen.append((out > 0).detach()))
    run = train(model, tmp_path, steps=40)
    last = torch.cat(seen[-32:])  # 1024 positions
    alive = seen[-1].any(0)
    assert run.series("alive_units", "relu").last == alive.sum()
    assert run.series("dead_units", "relu").last == (~last.any(0)).sum()
    assert run.series("dying_units", "relu").last == ((last.any(0)) & ~alive).sum()


def test_a_unit_that_comes_back_is_no_longer_dead(tmp_path):
    model = Net()

    def change(step):
        if step == 45:
            model.one.bias.data[:5] = 10.0

    dead = train(model, tmp_path, steps=50, change=change).series("dead_units", "relu")
    assert dead.before(45).last == 5
    assert dead.last == 0


def test_units_that_put_out_nan_are_not_called_dead(tmp_path):
    model = Net()

    def change(step):
        if step == 5:
            model.one.weight.data.fill_(float("nan"))

    dead = train(model, tmp_path, steps=45, change=change).series("dead_units", "relu")
    assert dead.last == 0


def test_functions_are_the_originals_outside_the_forward_and_after_an_error(tmp_path):
    originals = (F.relu, torch.relu, torch.Tensor.relu, "relu" in vars(torch.Tensor))
    model = Net()

    def change(step):
        assert (F.relu, torch.relu, torch.Tensor.relu, "relu" in vars(torch.Tensor)) == originals
        with pytest.raises(RuntimeError):
            model(torch.randn(2, 3, 8, 8))  # the wrong number of channels, with gradients: a sampled forward

    train(model, tmp_path, steps=3, change=change)
    assert (F.relu, torch.relu, torch.Tensor.relu, "relu" in vars(torch.Tensor)) == originals


def test_an_output_that_is_overwritten_is_read_as_it_was(tmp_path):
    class Overwrites(Net):
        def forward(self, x):
            x = self.act(self.conv(x)).mean((2, 3))
            x = F.relu6(self.one(x))  # which keeps its input for the backward pass, not its output
            return self.three(F.relu(self.two(x.add_(1.0))))

    run = train(Overwrites(), tmp_path, steps=41)
    dead = run.series("dead_units", "relu6")
    assert dead.last == 5
    assert len(run.series("alive_units", "relu6")) == 40  # all but the first


def test_layers_of_different_batches_are_looked_at_one_by_one(tmp_path):
    class Halves(Net):
        def forward(self, x):
            x = F.relu(self.one(self.act(self.conv(x)).mean((2, 3))))
            return self.three(F.relu(self.two(x[: len(x) // 2])))

    run = train(Halves(), tmp_path, steps=70)
    assert run.series("dead_units", "relu").last == 5
    assert run.series("dead_units", "relu#2").last >= 10
    assert run.series("dead_units", "relu#2").first_step == -(-MIN_POSITIONS // 16) - 1
