"""PPO in one file, continuous actions, as people copy it: vectorised environments, GAE, minibatches, annealed rate."""

import torch
from torch import nn
from torch.distributions import Normal


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(4, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), 1.0),
        )
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(4, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 2), 0.01),
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, 2))

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        probs = Normal(mean, self.actor_logstd.expand_as(mean).exp())
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)[:, 0]


def step_envs(state, action):
    position, velocity = state[:, :2], state[:, 2:]
    velocity = 0.9 * velocity + 0.1 * action.clamp(-1, 1)
    position = (position + velocity).clamp(-2, 2)
    return torch.cat([position, velocity], 1), -position.norm(dim=1)


def main(watch):
    envs, length, updates = 16, 32, 40
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
    monitor = watch(agent, optimizer)
    state, history = torch.cat([4 * torch.rand(envs, 2) - 2, torch.zeros(envs, 2)], 1), []
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = (1 - update / updates) * 3e-3
        obs, actions, logps, rewards, values = [], [], [], [], []
        state = torch.cat([4 * torch.rand(envs, 2) - 2, torch.zeros(envs, 2)], 1)
        for _ in range(length):
            with torch.no_grad():
                a, logp, _, v = agent.get_action_and_value(state)
            obs.append(state)
            actions.append(a)
            logps.append(logp)
            values.append(v)
            state, reward = step_envs(state, a)
            rewards.append(reward)
        with torch.no_grad():
            last, advantages, lastgae = agent.critic(state)[:, 0], [], 0
        for t in reversed(range(length)):
            following = last if t == length - 1 else values[t + 1]
            lastgae = rewards[t] + 0.97 * following - values[t] + 0.97 * 0.95 * lastgae
            advantages.insert(0, lastgae)
        history.append(torch.stack(rewards).sum(0).mean().item())
        b_obs, b_actions, b_logps, b_values, b_adv = (torch.cat(x) for x in (obs, actions, logps, values, advantages))
        b_returns = b_adv + b_values
        for _ in range(4):
            for i in torch.randperm(envs * length).split(128):
                _, newlogp, entropy, newvalue = agent.get_action_and_value(b_obs[i], b_actions[i])
                logratio = newlogp - b_logps[i]
                ratio = logratio.exp()
                approx_kl = ((ratio - 1) - logratio).mean().item()
                adv = (b_adv[i] - b_adv[i].mean()) / (b_adv[i].std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
                v_loss = 0.5 * ((newvalue - b_returns[i]) ** 2).mean()
                loss = pg_loss - 0.0 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        monitor.log(
            {
                "charts/episodic_return": history[-1],
                "losses/value_loss": v_loss.item(),
                "losses/policy_loss": pg_loss.item(),
                "losses/approx_kl": approx_kl,
            }
        )
    monitor.close()
    assert history[-1] > history[0] / 2
