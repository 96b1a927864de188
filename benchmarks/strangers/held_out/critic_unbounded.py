"""A Wasserstein critic without weight clipping or gradient penalty."""

import torch
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbounded-negative-loss", "runaway-weights", "growing-activations", "exploding-gradient", "diverging-loss")


def main(watch, faulty):
    gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=2e-3)
    monitor = watch(nn.ModuleDict({"gen": gen, "critic": critic}), [opt_c, opt_g])
    for step in range(250):
        for _ in range(5):
            real = torch.randn(64, 2) * 0.5 + torch.tensor([1.5, 1.5])
            loss_c = critic(gen(torch.randn(64, 4)).detach()).mean() - critic(real).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            if not faulty:
                for p in critic.parameters():
                    p.data.clamp_(-0.1, 0.1)
        loss_g = -critic(gen(torch.randn(64, 4))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 25 == 24:
            monitor.log(critic_loss=loss_c.item(), generator_loss=loss_g.item())
    monitor.close()
    return -(gen(torch.randn(500, 4)).mean(0) - 1.5).abs().max().item()
