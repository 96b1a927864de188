"""A denoising diffusion model on a ring of points: random timesteps, predict the noise, EMA weights for sampling."""

import copy
import math

import torch
from torch import nn

T = 50
betas = torch.linspace(1e-4, 0.12, T)
alphas = 1 - betas
bar = torch.cumprod(alphas, 0)


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU())
        self.inp = nn.Linear(2, width)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        freq = torch.exp(torch.arange(8) * -(math.log(100) / 8))
        emb = torch.cat([torch.sin(t[:, None] * freq), torch.cos(t[:, None] * freq)], 1)
        return self.out(self.mid(self.inp(x) + self.time(emb)))


def main(watch):
    model = Denoiser()
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    monitor = watch(model, opt)
    for _step in range(1200):
        angle = torch.rand(256) * 2 * torch.pi
        x0 = torch.stack([angle.cos(), angle.sin()], 1) * 1.2 + 0.03 * torch.randn(256, 2)
        t = torch.randint(0, T, (256,))
        noise = torch.randn_like(x0)
        xt = bar[t].sqrt()[:, None] * x0 + (1 - bar[t]).sqrt()[:, None] * noise
        loss = ((model(xt, t.float()) - noise) ** 2).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for e, p in zip(ema.parameters(), model.parameters(), strict=True):
                e.lerp_(p, 0.01)
    x = torch.randn(500, 2)
    with torch.no_grad():
        for i in reversed(range(T)):
            eps = ema(x, torch.full((500,), float(i)))
            x = (x - betas[i] / (1 - bar[i]).sqrt() * eps) / alphas[i].sqrt()
            x = x + (betas[i].sqrt() * torch.randn_like(x) if i else 0)
    monitor.close()
    assert 0.9 < x.norm(dim=1).median() < 1.5
