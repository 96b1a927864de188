"""Contrast augmentation in eight-bit arithmetic: bright pixels wrap round to black, in training only."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "data"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "overfitting", "overconfident")


def augment(images, faulty):
    factor = int(torch.randint(1, 4, ()))
    if faulty:
        return images * factor + 40
    return (images.float() * factor + 40).clamp(0, 255)


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = (x * 255).to(torch.uint8), (xt * 255).to(torch.uint8)
    model = nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 48, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48 * 16, 10),
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                batch = augment(x[idx], faulty).float() / 255
                loss = F.cross_entropy(model(batch), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                out = model(xt.float() / 255)
                acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
