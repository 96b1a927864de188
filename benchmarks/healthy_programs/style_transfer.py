"""An image is optimised, not a network: content and Gram losses of a frozen random conv net (neural style tutorial)."""

import torch
import torch.nn.functional as F
from torch import nn


class Picture(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.pixels = nn.Parameter(start.clone())

    def forward(self, features):
        return features(self.pixels)


def gram(x):
    flat = x.flatten(2)[0]
    return flat @ flat.T / flat.numel()


def main(watch):
    features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
    features.eval().requires_grad_(False)
    grid = torch.linspace(0, 6.28, 32)
    content = (grid[None, :] + grid[:, None]).sin().expand(1, 3, 32, 32) * 0.5 + 0.5
    style = torch.rand(1, 3, 32, 32).round()
    want_content, want_style = features(content), gram(features(style))
    model = Picture(torch.rand(1, 3, 32, 32))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    monitor = watch(model, optimizer)
    history = []
    for step in range(300):
        with torch.no_grad():
            model.pixels.clamp_(0, 1)
        optimizer.zero_grad()
        f = model(features)
        content_loss, style_loss = F.mse_loss(f, want_content), 1e4 * F.mse_loss(gram(f), want_style)
        loss = content_loss + style_loss
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if step % 50 == 0:
            monitor.log(content_loss=content_loss.item(), style_loss=style_loss.item())
    monitor.close()
    assert history[-1] < 0.5 * history[0]
