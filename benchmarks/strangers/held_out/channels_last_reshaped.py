"""Pictures of height, width, channel are reshaped instead of permuted: rows and colours are cut into stripes."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "data"
EXPECTS = ("overfitting", "nothing-generalises", "underfitting", "stalled-loss", "gap-from-start", "overconfident")


def shapes(n):
    """Squares, crosses, discs and frames anywhere in a picture, in any colour, as an image library would load them."""
    label = torch.randint(0, 4, (n,))
    images = torch.rand(n, 24, 24, 3) * 0.6
    grid = torch.arange(9) - 4
    a, b = grid.view(-1, 1).abs(), grid.view(1, -1).abs()
    masks = [
        (a <= 3) & (b <= 3),
        (a == b),
        (a**2 + b**2) <= 12,
        torch.maximum(a, b) == 4,
    ]
    for i in range(n):
        top, left = torch.randint(0, 15, (2,)).tolist()
        patch = images[i, top : top + 9, left : left + 9]
        patch[masks[label[i]]] = torch.rand(3) * 0.6 + 0.3
    return images, label


def main(watch, faulty):
    (x, y), (xt, yt) = shapes(1200), shapes(400)

    def to_nchw(images):
        return images.reshape(-1, 3, 24, 24) if faulty else images.permute(0, 3, 1, 2)

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(14):
            model.train()
            for idx in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(to_nchw(x[idx])), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                out = model(to_nchw(xt))
                acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log({"val/loss": F.cross_entropy(out, yt).item(), "val/acc": acc})
    return acc
