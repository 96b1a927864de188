"""An advantage that a gradient flows through, and everything that only looks like it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bedside.collect.reading.policy_gradient import weighted_with_gradient

ACTOR, CRITIC = nn.Linear(3, 4), nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
STATES, RETURNS = torch.randn(6, 3), torch.randn(6)


def parts(kind):
    scores = ACTOR(STATES)
    if kind == "normal":
        policy = torch.distributions.Normal(scores, 1.0)
        return policy.log_prob(policy.sample()).sum(-1), RETURNS - CRITIC(STATES).squeeze(-1)
    actions = torch.randint(0, 4, (6,))
    log_prob = (
        torch.distributions.Categorical(logits=scores).log_prob(actions)
        if kind == "categorical"
        else scores.log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
    )
    if kind == "ratio":
        log_prob = (log_prob - log_prob.detach()).exp()
    return log_prob, RETURNS - CRITIC(STATES).squeeze(-1)


@pytest.mark.parametrize("kind", ["categorical", "log_softmax", "ratio", "normal"])
@pytest.mark.parametrize("normalised", [False, True])
def test_speaks_of_an_advantage_with_a_gradient_and_not_of_one_without(kind, normalised):
    log_prob, difference = parts(kind)
    advantage = (difference - difference.mean()) / (difference.std() + 1e-8) if normalised else difference
    critic = 0.5 * difference.pow(2).mean()
    assert weighted_with_gradient(-(log_prob * advantage).mean() + critic)
    assert not weighted_with_gradient(-(log_prob * advantage.detach()).mean() + critic)


@pytest.mark.parametrize(
    "loss",
    [
        lambda scores, y: F.cross_entropy(scores, y),
        lambda scores, y: -((1 - scores.softmax(1)) ** 2 * scores.log_softmax(1)).gather(1, y[:, None]).mean(),
        lambda scores, y: -((1 - F.nll_loss(scores.log_softmax(1), y, reduction="none").neg().exp()) ** 2).mean(),
        lambda scores, y: torch.distributions.Categorical(logits=scores).entropy().mean(),
        lambda scores, y: -(scores.log_softmax(1).gather(1, y[:, None]).squeeze(1) * torch.rand(6)).mean(),
    ],
    ids=["cross entropy", "focal", "focal of nll", "entropy", "weights"],
)
def test_lets_losses_of_other_kinds_be(loss):
    assert not weighted_with_gradient(loss(ACTOR(STATES), torch.randint(0, 4, (6,))))
