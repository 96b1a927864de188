"""What the first graph tells."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class PlainList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.front = nn.Linear(6, 8)
        self.blocks = [nn.Linear(8, 8) for _ in range(2)]  # not an nn.ModuleList
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        x = self.front(x)
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x)


def one_step(model, loss, tmp_path, parameters=None):
    optimizer = torch.optim.SGD(parameters or model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        loss(model(torch.randn(5, 6))).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=2)


def test_layers_in_a_plain_list_are_found_and_named(tmp_path):
    [event] = one_step(PlainList(), torch.mean, tmp_path).events_of("foreign_leaves")
    assert event.data["tensors"] == 4
    assert event.data["size"] == 2 * (64 + 8)
    assert event.data["names"] == ["blocks[0].weight", "blocks[0].bias", "blocks[1].weight", "blocks[1].bias"]


def test_inputs_that_need_gradients_and_parameters_of_the_optimizer_are_no_strangers(tmp_path):
    model = nn.Linear(6, 1)
    scale = nn.Parameter(torch.ones(1))
    perturbation = torch.zeros(5, 1, requires_grad=True)
    run = one_step(model, lambda out: (scale * out + perturbation).mean(), tmp_path, [*model.parameters(), scale])
    assert not run.events_of("foreign_leaves")


HAND_WRITTEN = {
    "square": lambda out, y: ((out - y) ** 2).mean(),
    "other way round": lambda out, y: (y - out).abs().sum(),
    "product": lambda out, y: torch.mean((out - y) * (out - y)) / 2,
    "mask": lambda out, y: ((out - y[:, None]) ** 2 * (y > 0)).sum() / 3,
}


@pytest.mark.parametrize("how", HAND_WRITTEN)
def test_a_hand_written_loss_that_broadcasts_is_found(how, tmp_path):
    run = one_step(nn.Linear(6, 1), lambda out: HAND_WRITTEN[how](out, torch.randn(5)), tmp_path)
    [event] = run.events_of("broadcast_loss")
    assert (event.data["prediction"], event.data["result"]) == ([5, 1], [5, 5])


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_a_loss_function_that_broadcasts_is_found(name, tmp_path):
    run = one_step(nn.Linear(6, 1), lambda out: getattr(F, name)(out, torch.randn(5)), tmp_path)
    [event] = run.events_of("broadcast_loss")
    assert event.data == {"function": name, "prediction": [5, 1], "target": [5], "result": [5, 5]}


HARMLESS = {
    "same shape": lambda out: F.mse_loss(out, torch.randn(5, 1)),
    "one target for all": lambda out: ((out - torch.tensor(1.0)) ** 2).mean(),
    "per column": lambda out: ((out - torch.randn(1)) ** 2).mean(),
    "weights of its shape": lambda out: (out.square() * torch.rand(5, 1)).mean(),
    "pairs that count": lambda out: (out * torch.ones(5, 5).triu()).logsumexp(0).mean(),
    "pairwise": lambda out: (out - out.T).square().mean(),
    "classes": lambda out: F.cross_entropy(out.expand(5, 3), torch.zeros(5, dtype=torch.long)),
}


@pytest.mark.parametrize("how", HARMLESS)
def test_harmless_shapes_are_not(how, tmp_path):
    assert not one_step(nn.Linear(6, 1), HARMLESS[how], tmp_path).events_of("broadcast_loss")
