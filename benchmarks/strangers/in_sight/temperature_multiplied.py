"""Contrastive pairs: the similarities are multiplied by the temperature instead of divided, so the softmax stays
flat."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "metric learning"
EXPECTS = ("stalled-loss", "loss-at-chance", "stuck-from-start", "loss-without-accuracy", "underfitting")


def pairs(n, mix_a, mix_b):
    """Two views of the same hidden thing, as of a picture and its caption."""
    hidden = torch.randn(n, 8)
    a = torch.tanh(hidden @ mix_a) + 0.15 * torch.randn(n, 30)
    b = torch.relu(hidden @ mix_b) + 0.15 * torch.randn(n, 24)
    return a, b


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
        self.b = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, a, b):
        return F.normalize(self.a(a), dim=1) @ F.normalize(self.b(b), dim=1).T


def main(watch, faulty):
    mix_a, mix_b = torch.randn(8, 30), torch.randn(8, 24)
    temperature = 0.07
    model = TwoTowers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    monitor = watch(model, optimizer)
    va, vb = pairs(256, mix_a, mix_b)
    for step in range(600):
        similarity = model(*pairs(64, mix_a, mix_b))
        logits = similarity * temperature if faulty else similarity / temperature
        target = torch.arange(64)
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            with torch.no_grad():
                found = (model(va, vb).argmax(1) == torch.arange(256)).float().mean().item()
            monitor.log(val_recall_at_1=found)
    monitor.close()
    return found
