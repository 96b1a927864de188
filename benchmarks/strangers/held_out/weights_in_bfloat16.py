"""Everything is cast to bfloat16, weights too, and the learning rate is one for float32: steps are rounded away."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "precision"
EXPECTS = ("swallowed-updates", "undersized-update", "stalled-loss", "underfitting")


class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.inp = nn.Linear(20, d)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(2)
        )
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 8))

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


def main(watch, faulty):
    centres = torch.randn(8, 3, 20)  # three clusters a class
    y = torch.randint(0, 8, (3000,))
    x = centres[y, torch.randint(0, 3, (3000,))] + 0.6 * torch.randn(3000, 20)
    dtype = torch.bfloat16 if faulty else torch.float32
    model = Net().to(dtype)
    x = x.to(dtype)
    loader = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3, momentum=0.0)
    monitor = watch(model, optimizer)
    for epoch in range(24):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb).float(), yb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x[2500:]).float()
            acc = (out.argmax(1) == y[2500:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[2500:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
