"""The augmentation turns pictures by up to 15, meant as degrees, and cos and sin take radians: every picture is
turned any way round."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "augmentation units"
EXPECTS = ("underfitting", "validation-below-training", "stalled-loss", "still-falling")


class RandomRotation:
    def __init__(self, limit, faulty):
        self.limit, self.faulty = limit, faulty

    def __call__(self, x):
        angle = (torch.rand(len(x)) * 2 - 1) * self.limit
        if not self.faulty:
            angle = torch.deg2rad(angle)
        theta = torch.zeros(len(x), 2, 3)
        theta[:, 0, 0] = theta[:, 1, 1] = angle.cos()
        theta[:, 0, 1], theta[:, 1, 0] = -angle.sin(), angle.sin()
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


def make_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 3, padding=1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 16, 10),
    )


def main(watch, faulty):
    x, y, xv, yv = digits(flat=False)
    augment = RandomRotation(15, faulty)
    model = make_cnn()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = 9
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, epochs=epochs, steps_per_epoch=28)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            correct, running = 0, 0.0
            for rows in torch.randperm(len(x)).split(50):
                out = model(augment(x[rows]))
                loss = F.cross_entropy(out, y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sched.step()
                correct += (out.argmax(1) == y[rows]).sum().item()
                running += loss.item() * len(rows)
            model.eval()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(
                epoch=epoch,
                train_loss=running / len(x),
                train_acc=correct / len(x),
                val_loss=F.cross_entropy(out, yv).item(),
                val_acc=acc,
            )
    return acc
