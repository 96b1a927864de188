"""A diffusion model is trained on the first tenth of its noise levels and asked about all of them."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "diffusion"
EXPECTS = ("gap-from-start", "overfitting", "inputs-differ", "nothing-generalises", "erratic-validation")
T = 100


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 32)
        self.inp = nn.Linear(2, 64)
        self.net = nn.Sequential(nn.Linear(96, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        return self.net(torch.cat([self.inp(x), self.time(t)], 1))


def ring(n):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def noised(x, t, alphas):
    noise = torch.randn_like(x)
    a = alphas[t][:, None]
    return a.sqrt() * x + (1 - a).sqrt() * noise, noise


def main(watch, faulty):
    alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.08, T), 0)
    data, held = ring(4000), ring(1000)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for step in range(1500):
            x = data[torch.randint(0, 4000, (128,))]
            t = torch.randint(0, T // 10 if faulty else T, (128,))
            noisy, noise = noised(x, t, alphas)
            loss = F.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 99:
                t = torch.randint(0, T, (1000,))
                noisy, noise = noised(held, t, alphas)
                with torch.no_grad():
                    val = F.mse_loss(model(noisy, t), noise).item()
                monitor.log(val_loss=val)
    return -val
