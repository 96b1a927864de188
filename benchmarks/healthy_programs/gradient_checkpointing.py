"""A residual stack whose blocks are recomputed in the backward pass (torch.utils.checkpoint)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=48, depth=8):
        super().__init__()
        self.stem, self.blocks = nn.Linear(16, width), nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.head(x)


def main(watch):
    X = torch.randn(2400, 16)
    y = (X[:, 0] * X[:, 1] > 0).long() * 2 + (X[:, 2] + X[:, 3] > 0).long()
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for i in torch.randperm(2000).split(64):
            loss = F.cross_entropy(model(X[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(X[2000:])
        accuracy = (out.argmax(1) == y[2000:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[2000:]).item(), val_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.7
