"""Every signal is normalised by itself (InstanceNorm over time) although its level and swing are what has to be
told."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "wrong normalisation"
EXPECTS = ("stalled-loss", "underfitting", "loss-without-accuracy", "nothing-generalises")


def machines(n):
    """Vibration of a machine: its state is how strong it shakes and around which level."""
    state = torch.randint(0, 4, (n,))
    swing = torch.tensor([0.5, 0.5, 1.2, 1.2])[state] * (1 + 0.15 * torch.randn(n))
    level = torch.tensor([-0.6, 0.6, -0.6, 0.6])[state] + 0.2 * torch.randn(n)
    t = torch.arange(64) / 64
    phase, freq = torch.rand(n, 1) * 6.28, torch.randint(3, 9, (n, 1))
    x = level[:, None] + swing[:, None] * torch.sin(6.28 * freq * t + phase) + 0.1 * torch.randn(n, 64)
    return x[:, None], state


def block(c_in, c_out, stride=2):
    return nn.Sequential(
        nn.Conv1d(c_in, c_out, 5, stride=stride, padding=2, bias=False), nn.BatchNorm1d(c_out), nn.ReLU()
    )


class StateNet(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.first = nn.InstanceNorm1d(1) if faulty else nn.BatchNorm1d(1)
        self.body = nn.Sequential(block(1, 16), block(16, 32), block(32, 32))
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.body(self.first(x)).mean(-1))


def main(watch, faulty):
    x, y = machines(2000)
    xv, yv = machines(500)
    model = StateNet(faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    epochs = 9
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=epochs * 40)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for idx in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
                sched.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
