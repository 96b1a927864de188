"""Healthy: self-supervised pictures with a stopped gradient (SimSiam); the loss goes to minus one by design and a
nearest-neighbour score is logged beside it."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

FAMILY = "self-supervised"
EXPECTS = ()


def augment(x):
    shifted = torch.stack(
        [
            torch.roll(img, (int(a), int(b)), (1, 2))
            for img, (a, b) in zip(x, torch.randint(-1, 2, (len(x), 2)), strict=False)
        ]
    )
    return shifted * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)) + 0.15 * torch.randn_like(x)


class SimSiam(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 16, dim),
            nn.BatchNorm1d(dim),
        )
        self.predictor = nn.Sequential(nn.Linear(dim, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return -0.5 * (F.cosine_similarity(pa, zb.detach()).mean() + F.cosine_similarity(pb, za.detach()).mean())


@torch.no_grad()
def neighbours(model, x, y, xv, yv):
    model.eval()
    z, zv = F.normalize(model.encoder(x)), F.normalize(model.encoder(xv))
    model.train()
    return (y[(zv @ z.T).argmax(1)] == yv).float().mean().item()


def main(watch):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    model = SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20 * 22)
    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            for idx in torch.randperm(1408).split(64):
                loss = model(augment(x[idx]), augment(x[idx]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            score = neighbours(model, x[:1408], y[:1408], x[1408:], y[1408:])
            monitor.log(knn_accuracy=score, epoch=epoch)
    assert score > 0.85, score
    return score
