"""Mixed precision in float16: the GradScaler is made in the function of the training step, so that every step begins
with the first scale again; it overflows, and the step is skipped, and the next one too."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "mixed precision"
EXPECTS = (
    "never-stepped",
    "nonfinite-gradient",
    "loss-scale-collapse",
    "stuck-from-start",
    "constant-loss",
    "loss-at-chance",
    "frozen-validation",
)


def rings(count):
    y = torch.randint(0, 3, (count,))
    angle = 6.2832 * torch.rand(count)
    radius = y + 1 + 0.15 * torch.randn(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), y


def evaluate(model, x, y):
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    model.train()
    return F.cross_entropy(out.float(), y).item(), (out.argmax(1) == y).float().mean().item()


def main(watch, faulty):
    x, y = rings(2000)
    xv, yv = rings(500)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def new_scaler():
        return torch.amp.GradScaler("cpu", init_scale=2.0**24)

    scaler = new_scaler()
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for rows in torch.randperm(len(x)).split(64):
                if faulty:
                    scaler = new_scaler()
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = F.cross_entropy(model(x[rows]), y[rows])
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            loss, acc = evaluate(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    return evaluate(model, *rings(2000))[1]
