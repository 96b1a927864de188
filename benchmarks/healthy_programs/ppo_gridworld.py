"""PPO on a batch of grid worlds, as in CleanRL: rollouts, GAE, four epochs of minibatches, value and entropy terms."""

import torch
from torch import nn

SIZE, ENVS, LENGTH = 5, 16, 32


class Grids:
    """Walk to the lower right corner: -0.02 for each move, 1 on arrival, then a new start."""

    def __init__(self):
        self.at = torch.randint(0, SIZE, (ENVS, 2))

    def observe(self):
        return nn.functional.one_hot(self.at[:, 0] * SIZE + self.at[:, 1], SIZE * SIZE).float()

    def step(self, action):
        move = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])[action]
        self.at = (self.at + move).clamp(0, SIZE - 1)
        done = (self.at == SIZE - 1).all(1)
        self.at[done] = torch.randint(0, SIZE, (int(done.sum()), 2))
        return self.observe(), torch.where(done, 1.0, -0.02), done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(25, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(25, 64), nn.Tanh(), nn.Linear(64, 1))
        nn.init.orthogonal_(self.actor[-1].weight, 0.01)

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.actor(x)), self.critic(x).squeeze(-1)


def main(watch):
    envs, agent = Grids(), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    updates, rewards = 25, []
    with watch(agent, optimizer) as monitor:
        obs = envs.observe()
        for update in range(updates):
            optimizer.param_groups[0]["lr"] = 2.5e-3 * (1 - update / updates)
            S, A, L, R, D, V = [], [], [], [], [], []
            with torch.no_grad():
                for _ in range(LENGTH):
                    pi, v = agent(obs)
                    a = pi.sample()
                    S.append(obs), A.append(a), L.append(pi.log_prob(a)), V.append(v)
                    obs, r, d = envs.step(a)
                    R.append(r), D.append(d)
                nextv, adv, last = agent(obs)[1], [], 0
                for t in reversed(range(LENGTH)):
                    delta = R[t] + 0.95 * nextv * (1 - D[t]) - V[t]
                    last = delta + 0.95 * 0.95 * (1 - D[t]) * last
                    adv.insert(0, last)
                    nextv = V[t]
            S, A, L, adv, V = (torch.cat(each) for each in (S, A, L, adv, V))
            ret = adv + V
            for _ in range(4):
                for idx in torch.randperm(len(S)).split(128):
                    pi, v = agent(S[idx])
                    ratio = (pi.log_prob(A[idx]) - L[idx]).exp()
                    a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
                    pg = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
                    loss = pg + 0.5 * ((v - ret[idx]) ** 2).mean() - 0.01 * pi.entropy().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                    optimizer.step()
            rewards.append(torch.stack(R).mean().item())
            monitor.log({"charts/episodic_return": rewards[-1], "losses/entropy": pi.entropy().mean().item()})
    assert sum(rewards[-5:]) / 5 > 0.15 > rewards[0]
