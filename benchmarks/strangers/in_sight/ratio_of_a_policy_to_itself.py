"""PPO that computes the old log-probabilities anew, without no_grad: the ratio is one and its gradient nothing."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "dead-layer",
    "silent-parameter",
    "stuck-from-start",
    "faded-gradient",
    "stalled-loss",
    "loss-without-accuracy",
)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.value = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))


class Poles:
    """A hundred cart-poles at once, with a simplified physics."""

    def __init__(self, n):
        self.n, self.s, self.age = n, 0.05 * torch.randn(n, 4), torch.zeros(n)

    def step(self, a):
        x, v, th, w = self.s.unbind(1)
        force = a.float() * 2 - 1
        acc = 9.8 * torch.sin(th) - 6 * force * torch.cos(th)
        w2, v2 = w + 0.03 * acc, v + 0.03 * 6 * force
        self.s = torch.stack([x + 0.03 * v2, v2, th + 0.03 * w2, w2], 1)
        done = (self.s[:, 2].abs() > 0.25) | (self.s[:, 0].abs() > 2.4) | (self.age > 200)
        self.age = torch.where(done, torch.zeros(self.n), self.age + 1)
        self.s = torch.where(done[:, None], 0.05 * torch.randn(self.n, 4), self.s)
        return done


def main(watch, faulty):
    env, agent = Poles(64), Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=1e-3)
    with watch(agent, opt) as monitor:
        for _ in range(40):
            S, A, L, D, V = [], [], [], [], []
            with torch.no_grad():
                for _ in range(64):
                    dist = torch.distributions.Categorical(logits=agent.policy(env.s))
                    a = dist.sample()
                    S.append(env.s), A.append(a), L.append(dist.log_prob(a)), V.append(agent.value(env.s).squeeze(1))
                    D.append(env.step(a).float())
                ret, out = agent.value(env.s).squeeze(1), []
                for d in reversed(D):
                    ret = 1.0 + 0.98 * ret * (1 - d)
                    out.append(ret)
            R = torch.cat(out[::-1])
            S, A, L, V = torch.cat(S), torch.cat(A), torch.cat(L), torch.cat(V)
            adv = (R - V - (R - V).mean()) / ((R - V).std() + 1e-8)
            for _ in range(3):
                for i in torch.randperm(len(S)).split(512):
                    logp = torch.distributions.Categorical(logits=agent.policy(S[i])).log_prob(A[i])
                    old = torch.distributions.Categorical(logits=agent.policy(S[i])).log_prob(A[i]) if faulty else L[i]
                    ratio = (logp - old).exp()
                    actor = -torch.min(ratio * adv[i], ratio.clamp(0.8, 1.2) * adv[i]).mean()
                    critic = F.mse_loss(agent.value(S[i]).squeeze(1), R[i])
                    loss = actor + 0.01 * critic
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            length = 64 * 64 / max(1.0, torch.stack(D).sum().item())
            monitor.log(episode_length=length)
    return length
