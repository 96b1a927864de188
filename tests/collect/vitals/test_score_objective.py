"""A loss that is a mean of the network's own outputs has no level to fall to; a likelihood has."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.score_objective import is_score

NET = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
X, Y = torch.randn(16, 4), torch.randint(2, (16,))


def variational():
    mean, log_variance = NET(X).chunk(2, 1)
    return mean.square().mean() - 0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()


def by_hand():
    logits = NET(X)
    return (logits.logsumexp(1) - logits[:, 0]).mean()


@pytest.mark.parametrize(
    "loss",
    [
        lambda: NET(X).mean() - NET(-X).mean(),
        lambda: -NET(X)[:, 0].mean(),
        lambda: (NET(X) - NET(-X)).mean() + 0.1 * (NET(X) ** 2).mean(),
    ],
)
def test_a_score_is_one(loss):
    assert is_score(loss().grad_fn)


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.cross_entropy(NET(X), Y),
        lambda: F.mse_loss(NET(X), X[:, :2]),
        lambda: (NET(X) - X[:, :2]).abs().mean(),
        lambda: F.softplus(-NET(X)).mean(),
        lambda: (1 - NET(X)).relu().mean(),
        variational,
        by_hand,
    ],
)
def test_a_loss_with_a_floor_is_none(loss):
    assert not is_score(loss().grad_fn)


def test_it_is_recorded_and_the_loss_is_not_advised_on(tmp_path):
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        (critic(torch.randn(32, 2)).mean() - critic(torch.randn(32, 2) + 1).mean()).backward()
        optimizer.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)

    assert watched(critic, optimizer, tmp_path, body, 60).config["objective"] == "score"


def test_a_critic_that_takes_its_steps_first_does_not_hide_the_generators_objective(tmp_path):
    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(generator.parameters(), lr=0.01)

    def body(step, monitor):
        for _ in range(5):
            critic(generator(torch.randn(8, 3)).detach()).square().mean().backward()
        optimizer.zero_grad()
        (-critic(generator(torch.randn(8, 3))).mean()).backward()
        optimizer.step()

    assert watched(generator, optimizer, tmp_path, body, 30).config["objective"] == "score"


def test_gradients_that_another_models_backward_finds_are_not_said_to_be_left(tmp_path):
    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(generator.parameters(), lr=0.01)

    def body(step, monitor):
        critic(torch.randn(8, 2)).square().mean().backward()
        optimizer.zero_grad()
        critic(generator(torch.randn(8, 3))).square().mean().backward()
        optimizer.step()

    assert not watched(generator, optimizer, tmp_path, body, 40).series("grads_not_zeroed").values.any()
