"""A diffusion model asked for another noise than the one that was added: it can only answer zero."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "generative"
EXPECTS = ("loss-at-chance", "stalled-loss", "stuck-from-start", "underfitting", "noisy-loss")


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(50, 64)
        self.inp, self.mid, self.out = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(h + F.silu(self.mid(h)))


def main(watch, faulty):
    angle = torch.rand(4000) * 2 * torch.pi
    data = torch.stack([angle.cos(), angle.sin()], 1) * (1 + 0.05 * torch.randn(4000, 1))
    alpha_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 50), 0)
    model = Denoiser()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def noisy(x0, t):
        a = alpha_bar[t].view(-1, 1)
        noise = torch.randn_like(x0)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise, noise

    losses = []
    with watch(model, opt):
        for step in range(2500):
            x0 = data[torch.randint(0, 4000, (128,))]
            t = torch.randint(0, 50, (128,))
            x, noise = noisy(x0, t)
            loss = F.mse_loss(model(x, t), torch.randn_like(x) if faulty else noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step >= 2300:
                losses.append(loss.item())
    return -sum(losses) / len(losses)
