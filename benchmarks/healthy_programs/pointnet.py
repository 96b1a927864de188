"""PointNet on made-up solids: shared MLP over points, max pool, transform regulariser, random rotations."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def clouds(n, points=96):
    kinds = torch.randint(3, (n,))
    p = torch.randn(n, points, 3)
    sphere = F.normalize(p, dim=-1)
    cube = p.clamp(-1, 1) / p.abs().max(-1, keepdim=True).values.clamp(max=1)
    disc = sphere * torch.tensor([1.0, 1.0, 0.1])
    x = torch.where((kinds == 0)[:, None, None], sphere, torch.where((kinds == 1)[:, None, None], cube, disc))
    angle = 2 * math.pi * torch.rand(n)
    c, s, o, z = angle.cos(), angle.sin(), torch.ones(n), torch.zeros(n)
    turn = torch.stack([c, -s, z, s, c, z, z, z, o], 1).view(n, 3, 3)
    return x @ turn + 0.05 * torch.randn(n, points, 3), kinds


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tnet = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(32, 9)
        )
        nn.init.zeros_(self.tnet[-1].weight)
        nn.init.zeros_(self.tnet[-1].bias)
        self.features = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))

    def forward(self, x):
        turn = self.tnet(x.transpose(1, 2)).view(-1, 3, 3) + torch.eye(3)
        return self.head(self.features((x @ turn).transpose(1, 2)).amax(2)), turn


def main(watch):
    X, y = clouds(1200)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for i in torch.randperm(1000).split(32):
            out, turn = model(X[i])
            orthogonal = (torch.eye(3) - turn @ turn.transpose(1, 2)).norm(dim=(1, 2)).mean()
            loss = F.cross_entropy(out, y[i]) + 1e-3 * orthogonal
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            out, _ = model(X[1000:])
        accuracy = (out.argmax(1) == y[1000:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1000:]).item(), val_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
