"""A sinusoidal network learns one picture by heart, from coordinates to grey values: no validation, no batches."""

import torch
from sklearn.datasets import load_sample_image
from torch import nn


class Sine(nn.Module):
    def __init__(self, i, o, w0):
        super().__init__()
        self.linear, self.w0 = nn.Linear(i, o), w0
        bound = 1 / i if w0 > 10 else (6 / i) ** 0.5
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.w0 * self.linear(x))


def main(watch):
    try:
        picture = torch.tensor(load_sample_image("flower.jpg")[::8, ::8].copy()).float().mean(2) / 127.5 - 1
    except Exception:  # without the picture library, any smooth picture will do
        a, b = torch.linspace(0, 9, 50).view(-1, 1), torch.linspace(0, 9, 70).view(1, -1)
        picture = torch.sin(a * b / 3) * torch.cos(a - b)
    h, w = picture.shape
    grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij"), -1).view(
        -1, 2
    )
    net = nn.Sequential(Sine(2, 64, 20.0), Sine(64, 64, 1.0), Sine(64, 64, 1.0), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt):
        for _ in range(400):
            loss = ((net(grid).squeeze(1) - picture.flatten()) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    assert loss.item() < 0.5 * picture.var().item()
