"""Frozen layers that are as random as they were made."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

from bedside.collect.vitals.frozen_weights import is_plain_noise


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.front, self.head = nn.Embedding(100, 8), nn.Linear(8, 64), nn.Linear(64, 1)

    def forward(self, x):
        return self.head(torch.relu(self.front(self.embed(x).mean(1))))


def recorded(tmp_path, prepare, follow=False):
    model = Net()
    prepare(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randint(100, (8, 5))).pow(2).mean().backward()
        optimizer.step()
        if follow:
            with torch.no_grad():
                model.front.weight.mul_(0.999)

    run = watched(model, optimizer, tmp_path, body, steps=60)
    return [event.data["names"] for event in run.events_of("frozen_weights")]


@pytest.mark.parametrize("name", ["embed", "front"])
def test_a_frozen_layer_as_torch_made_it_is_named(name, tmp_path):
    assert recorded(tmp_path, lambda model: getattr(model, name).requires_grad_(False)) == [[name]]


def test_pretrained_weights_are_another_matter(tmp_path):
    def load(model):
        nn.init.normal_(model.front.weight, std=0.2)
        model.front.requires_grad_(False)

    assert not recorded(tmp_path, load)


def test_a_frozen_copy_that_follows_the_model_is_not_named(tmp_path):
    assert not recorded(tmp_path, lambda model: model.front.requires_grad_(False), follow=True)


def test_nothing_frozen_nothing_named(tmp_path):
    assert not recorded(tmp_path, lambda model: None)


def in_groups(tmp_path, rate, prepare=lambda model: None):
    torch.manual_seed(0)
    model = Net()
    prepare(model)
    body = [*model.embed.parameters(), *model.front.parameters()]
    groups = [{"params": body, "lr": rate}, {"params": model.head.parameters()}]
    optimizer = torch.optim.Adam(groups, lr=1e-2)

    def step_of(step, monitor):
        optimizer.zero_grad()
        model(torch.randint(100, (8, 5))).sub(1).pow(2).mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, step_of, steps=60)
    assert not run.events_of("frozen_weights")
    return [event.data["names"] for event in run.events_of("hardly_stepped_weights")]


@pytest.mark.parametrize("rate", [0.0, 1e-11])
def test_random_layers_whose_group_has_next_to_no_learning_rate_are_named(rate, tmp_path):
    assert in_groups(tmp_path, rate) == [["embed", "front"]]
    assert in_groups(tmp_path / "normal", rate, lambda model: nn.init.kaiming_normal_(model.front.weight)) == [
        ["embed", "front"]
    ]


def test_a_group_with_a_smaller_rate_is_trained(tmp_path):
    assert in_groups(tmp_path, 1e-4) == []


def test_layers_that_hold_what_they_learned_may_have_no_rate(tmp_path):
    def load(model):
        for module in (model.embed, model.front):
            learned = torch.randn(len(module.weight), 1) * torch.randn(1, module.weight.shape[1])
            module.weight.data += 2 * learned

    assert in_groups(tmp_path, 0.0, load) == []


@pytest.mark.parametrize("spread", [0.02, 0.05, 1.0])
def test_noise_of_any_spread_is_recognised_in_an_embedding(spread):
    torch.manual_seed(0)
    assert bool(is_plain_noise(spread * torch.randn(400, 4, dtype=torch.float64)))


def test_an_embedding_with_structure_is_not_noise():
    torch.manual_seed(0)
    noise = torch.randn(400, 16, dtype=torch.float64)
    for trained in (noise + torch.randn(16), noise * torch.linspace(0.5, 2, 16), noise.pow(3)):
        assert not bool(is_plain_noise(trained))
