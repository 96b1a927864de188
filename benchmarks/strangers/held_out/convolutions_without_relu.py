"""A small conv net whose author listed convolutions and poolings (by averages) and no activation between them."""

import torch
from torch import nn

FAMILY = "conv net"
EXPECTS = ("linear-network", "underfitting", "stalled-loss", "loss-at-chance", "stuck-from-start")


def shapes(count, size=16):
    """Bright or dark rings, crosses and squares at any place: brightness says nothing about the shape."""
    y = torch.randint(0, 3, (count,))
    sign = torch.randint(0, 2, (count,)) * 2.0 - 1
    grid = torch.arange(size).float()
    at = torch.randint(5, size - 5, (count, 2)).float()
    dx, dy = grid[None, None] - at[:, 0, None, None], grid[None, :, None] - at[:, 1, None, None]
    near = torch.maximum(dx.abs(), dy.abs())
    ring = ((dx**2 + dy**2).sqrt() - 3.5).abs() < 0.7
    cross = ((dx == 0) | (dy == 0)) & (near <= 4)
    square = (near == 3).expand_as(ring)
    picture = torch.stack([ring, cross, square], 1).float()[torch.arange(count), y]
    return (sign[:, None, None] * picture + 0.3 * torch.randn(count, size, size))[:, None], y


def block(inside, outside, faulty):
    layers = [nn.Conv2d(inside, outside, 3, padding=1), nn.AvgPool2d(2)]
    return layers if faulty else [layers[0], nn.ReLU(), layers[1]]


def main(watch, faulty):
    x, y = shapes(1500)
    xv, yv = shapes(400)
    model = nn.Sequential(*block(1, 16, faulty), *block(16, 32, faulty), nn.Flatten(), nn.Linear(32 * 16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    monitor = watch(model, optimizer)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
            monitor.log(
                epoch=epoch, val_loss=loss_fn(out, yv).item(), val_acc=(out.argmax(1) == yv).float().mean().item()
            )
    monitor.close()
    xt, yt = shapes(1500)
    with torch.no_grad():
        return (model(xt).argmax(1) == yt).float().mean().item()
