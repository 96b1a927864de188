"""Wasserstein GAN with gradient penalty: five critic steps for one of the generator."""

import torch
from torch import nn

CRITIC_ITERS, LAMBDA = 5, 10


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(len(real), 1)
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    grad = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def sample_real(n):
    angle = torch.randint(0, 8, (n,)) * torch.pi / 4
    return torch.stack([angle.cos(), angle.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def main(watch):
    gen = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    model = nn.ModuleDict(dict(generator=gen, critic=critic))
    with watch(model, [opt_c, opt_g]) as monitor:
        for it in range(300):
            for _ in range(CRITIC_ITERS):
                real, fake = sample_real(128), gen(torch.randn(128, 2)).detach()
                w = critic(fake).mean() - critic(real).mean()
                opt_c.zero_grad()
                (w + gradient_penalty(critic, real, fake)).backward()
                opt_c.step()
            opt_g.zero_grad()
            g_loss = -critic(gen(torch.randn(128, 2))).mean()
            g_loss.backward()
            opt_g.step()
            if it % 25 == 0:
                monitor.log(wasserstein_distance=-w.item(), generator_loss=g_loss.item())
    radius = gen(torch.randn(1000, 2)).norm(dim=1)
    assert 1.2 < radius.median() < 2.8
