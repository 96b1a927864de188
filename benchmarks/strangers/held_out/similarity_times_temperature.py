"""Contrastive pairs of unit vectors whose similarity is multiplied by the temperature of 0.05 instead of divided."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "contrastive"
EXPECTS = ("loss-at-chance", "stuck-from-start", "stalled-loss", "underfitting", "faded-gradient")


def main(watch, faulty):
    hidden = torch.randn(1600, 12)
    left = torch.tanh(hidden @ torch.randn(12, 40)) + 0.3 * torch.randn(1600, 40)
    right = torch.relu(hidden @ torch.randn(12, 30)) + 0.3 * torch.randn(1600, 30)
    towers = nn.ModuleDict({
        "left": nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16)),
        "right": nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16)),
    })  # fmt: skip
    optimizer = torch.optim.AdamW(towers.parameters(), lr=2e-3)

    def logits(idx):
        a, b = F.normalize(towers["left"](left[idx]), dim=1), F.normalize(towers["right"](right[idx]), dim=1)
        return a @ b.T * 0.05 if faulty else a @ b.T / 0.05

    with watch(towers, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(1400).split(100):
                loss = F.cross_entropy(logits(idx), torch.arange(100))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = logits(torch.arange(1400, 1600))
            top = (out.argmax(1) == torch.arange(200)).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, torch.arange(200)).item(), val_recall_at_1=top)
    return top
