"""What is drawn from torch.distributions, what is scored, and where a gradient ends."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.distributions import Categorical, Independent, Normal, kl_divergence


def told(tmp_path, model, loss, steps=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def body(step, monitor):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data["function"] for event in run.events_of("loss_input")]


def policy_loss(scored):
    """The loss of an episode of five steps; `scored` says which action of a policy its log-probability is of."""

    def loss(model):
        total = 0.0
        for _ in range(5):
            policy = Categorical(logits=model(torch.randn(8, 3)))
            action = policy.sample()
            total = total - (scored(policy, action) * (action == 0).float()).mean()
        return total

    return loss


@pytest.mark.parametrize(
    ("scored", "found"),
    [
        (lambda policy, action: policy.log_prob(policy.sample()), ["log_prob"]),
        (lambda policy, action: policy.log_prob(action), []),
        # An entropy that is estimated, beside the score of the action that was taken.
        (lambda policy, action: policy.log_prob(action) + 0.01 * policy.log_prob(policy.sample()), []),
        (lambda policy, action: 0.01 * policy.log_prob(policy.sample()) + policy.log_prob(action), []),
        # Actions that were kept somewhere else.
        (lambda policy, action: policy.log_prob(action.clone()) + policy.log_prob(policy.sample()), []),
    ],
)
def test_an_action_that_was_drawn_anew(tmp_path, scored, found):
    assert told(tmp_path, nn.Linear(3, 4), policy_loss(scored)) == found


class Autoencoder(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(2, 6)
        self.draw = draw

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, 1)
        posterior = Normal(mean, spread.exp())
        return self.decoder(self.draw(posterior)), posterior


def elbo(model):
    x = torch.randn(8, 6)
    made, posterior = model(x)
    return (made - x).square().sum(1).mean() + kl_divergence(posterior, Normal(0.0, 1.0)).sum(1).mean()


@pytest.mark.parametrize(
    ("draw", "found"),
    [
        (lambda posterior: posterior.sample(), ["decoder"]),
        (lambda posterior: Independent(posterior, 1).sample(), ["decoder"]),
        (lambda posterior: posterior.rsample(), []),
        (lambda posterior: posterior.mean, []),
    ],
)
def test_a_code_without_a_gradient(tmp_path, draw, found):
    assert told(tmp_path, Autoencoder(draw), elbo) == found


def test_a_draw_whose_probability_is_asked_for_has_its_gradient_from_there(tmp_path):
    def loss(model):
        policy = Normal(model.encoder(torch.randn(8, 6))[:, :2], 1.0)
        action = policy.sample()
        worth = model.decoder(action).sum(1)
        return -(policy.log_prob(action).sum(1) * worth.detach()).mean() + (worth - 1).square().mean()

    assert told(tmp_path, Autoencoder(None), loss) == []


def test_a_critic_of_actions_that_were_drawn(tmp_path):
    def loss(model):
        action = Normal(model.encoder(torch.randn(8, 6))[:, :2], 1.0).sample()
        return (model.decoder(action).sum(1) - 1).square().mean()

    assert told(tmp_path, Autoencoder(None), loss) == []


def test_the_methods_are_put_back(tmp_path):
    before = Normal.sample, Categorical.log_prob
    told(tmp_path, nn.Linear(3, 4), policy_loss(lambda policy, action: policy.log_prob(action)))
    assert (Normal.sample, Categorical.log_prob) == before
