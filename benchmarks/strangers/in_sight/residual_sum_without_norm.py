"""A deep residual net on tables whose blocks lost their normalisation: every block adds as much as there was."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "hand-written layers"
EXPECTS = ("wrong-initial-loss", "growing-activations", "exploding-gradient", "oversized-update", "diverging-loss",
           "noisy-loss", "oscillating-loss", "stalled-loss")  # fmt: skip


class Block(nn.Module):
    def __init__(self, dim, norm):
        super().__init__()
        self.norm = nn.LayerNorm(dim) if norm else nn.Identity()
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        for layer in (self.up, self.down):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, norm, dim=32, depth=14):
        super().__init__()
        self.embed = nn.Linear(12, dim)
        self.blocks = nn.Sequential(*[Block(dim, norm) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim) if norm else nn.Identity(), nn.Linear(dim, 4))

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


def main(watch, faulty):
    x = torch.randn(2400, 12)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] + x[:, 3].sin() > 0).long()
    loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
    model = ResMLP(norm=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(10):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x[2000:])
            acc = (out.argmax(1) == y[2000:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[2000:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
