"""Actor-critic where the advantage is not detached: the critic is trained to please the policy's loss."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "mismatched-loss",
    "unbounded-negative-loss",
    "worsening-metric",
    "diverging-loss",
    "growing-activations",
    "runaway-weights",
    "exploding-gradient",
    "stalled-loss",
)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.actor(x), self.critic(x).squeeze(-1)


def main(watch, faulty):
    # A contextual bandit of forty contexts at a time: the right arm depends on the context, rewards are noisy.
    arms = torch.randn(8, 4)
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    rewards = []
    with watch(net, opt) as monitor:
        for update in range(1500):
            context = torch.randn(40, 8)
            logits, value = net(context)
            policy = torch.distributions.Categorical(logits=logits)
            action = policy.sample()
            best = (context @ arms).argmax(1)
            reward = (action == best).float() * 2 - 1 + 0.3 * torch.randn(40)
            advantage = reward - value
            weight = advantage if faulty else advantage.detach()
            loss = -(policy.log_prob(action) * weight).mean() + 0.01 * F.mse_loss(value, reward)
            opt.zero_grad()
            loss.backward()
            opt.step()
            rewards.append((action == best).float().mean().item())
            if update % 10 == 0:
                monitor.log(mean_reward=reward.mean().item(), entropy=policy.entropy().mean().item())
    return sum(rewards[-100:]) / 100
