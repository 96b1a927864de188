"""An entropy that is taken off the loss, and one that is added to it."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical, Independent, Normal

from bedside.collect.reading.entropy_sign import paid_for_certainty

LAYER, SPREAD = torch.nn.Linear(3, 4), torch.nn.Parameter(torch.zeros(4))
X, GAIN, ACTION = torch.randn(5, 3), torch.randn(5), torch.randint(0, 4, (5,))


def reinforce(bonus):
    policy = Categorical(logits=LAYER(X))
    return -(policy.log_prob(ACTION) * GAIN).mean() - bonus * policy.entropy().mean()


def of_probabilities(bonus):
    policy = Categorical(probs=LAYER(X).softmax(1))
    return -(policy.log_prob(ACTION) * GAIN).mean() - bonus * policy.entropy().mean()


def clipped(bonus):
    policy = Categorical(logits=LAYER(X))
    ratio = (policy.log_prob(ACTION) - policy.log_prob(ACTION).detach()).exp()
    surrogate = torch.min(ratio * GAIN, ratio.clamp(0.8, 1.2) * GAIN).mean()
    return -surrogate + 0.5 * LAYER(X)[:, 0].square().mean() - bonus * policy.entropy().mean()


def by_hand(bonus):
    logs = LAYER(X).log_softmax(1)
    chosen = logs.gather(1, ACTION[:, None]).squeeze(1)
    return -(chosen * GAIN).mean() + bonus * (logs.exp() * logs).sum(1).mean()


def with_a_small_number(bonus):
    p = LAYER(X).softmax(1)
    chosen = torch.log(p[torch.arange(5), ACTION])
    return -(chosen * GAIN).mean() + bonus * (p * torch.log(p + 1e-8)).sum(1).mean()


def continuous(bonus):
    policy = Normal(LAYER(X), SPREAD.exp())
    return -(policy.log_prob(torch.ones(5, 4)).sum(-1) * GAIN).mean() - bonus * policy.entropy().sum(-1).mean()


def independent(bonus):
    policy = Independent(Normal(LAYER(X), SPREAD.exp()), 1)
    return -(policy.log_prob(torch.ones(5, 4)) * GAIN).mean() - bonus * policy.entropy().mean()


def an_episode(bonus):
    logs, entropy = [], 0.0
    for _ in range(20):
        policy = Categorical(logits=LAYER(X))
        logs.append(policy.log_prob(ACTION))
        entropy = entropy + policy.entropy().mean() / 20
    return -(torch.stack(logs) * torch.randn(20, 5)).mean() - bonus * entropy


LOSSES = [reinforce, of_probabilities, clipped, by_hand, with_a_small_number, continuous, independent, an_episode]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bonus_that_is_added_to_the_loss(loss):
    assert paid_for_certainty(loss(-0.01))
    assert not paid_for_certainty(loss(0.01))
    assert not paid_for_certainty(loss(0.0))


def test_certain_answers_without_a_policy_are_wanted():
    p = LAYER(X).softmax(1)
    assert not paid_for_certainty(-(p * p.log()).sum(1).mean())


def test_an_expected_score_is_no_entropy():
    scores, policy = LAYER(X), Categorical(logits=LAYER(X))
    actor = -(policy.log_prob(ACTION) * GAIN).mean()
    assert not paid_for_certainty(actor - (scores.softmax(1) * scores).sum(1).mean())


def test_a_likelihood_beside_the_policy_pays_for_its_own_spread():
    policy, spread = Categorical(logits=LAYER(X)), LAYER(X).exp()
    likelihood = (0.5 * ((LAYER(X) - 1) / spread) ** 2 + spread.log()).mean()
    assert not paid_for_certainty(-(policy.log_prob(ACTION) * GAIN).mean() + likelihood)
