"""The detector answers on a grid of cells; the evaluation reads row and column of the best cell the wrong way round."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "grid detection"
EXPECTS = (
    "misread-validation",
    "gap-from-start",
    "metric-loss-disagreement",
    "loss-without-accuracy",
    "nothing-generalises",
)

GRID, CELL = 6, 4


def scenes(n):
    size = GRID * CELL
    x = 0.2 * torch.randn(n, 1, size, size)
    top = torch.randint(0, size - 3, (n,))
    left = torch.randint(0, size - 3, (n,))
    blob = torch.tensor([[0.4, 0.8, 0.4], [0.8, 1.0, 0.8], [0.4, 0.8, 0.4]])
    for k in range(n):
        x[k, 0, top[k] : top[k] + 3, left[k] : left[k] + 3] += blob
        r, c = torch.randint(0, size - 4, (2,))
        x[k, 0, r, c : c + 4] += 0.6  # a stroke that is no object
    return x, torch.stack([top + 1.0, left + 1.0], 1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.objectness = nn.Conv2d(32, 1, 1)
        self.offset = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        h = self.body(x)
        return self.objectness(h).flatten(1), self.offset(h).flatten(2)


def detection_loss(out, centre):
    logits, offset = out
    cell = (centre / CELL).long()
    index = cell[:, 0] * GRID + cell[:, 1]
    wanted = (centre / CELL - cell) - 0.5
    got = offset.gather(2, index[:, None, None].expand(-1, 2, 1)).squeeze(2)
    return F.cross_entropy(logits, index) + 2 * F.smooth_l1_loss(got, wanted)


def decode(out, faulty):
    logits, offset = out
    best = logits.argmax(1)
    row, col = best // GRID, best % GRID
    if faulty:
        row, col = best % GRID, best // GRID
    shift = offset.gather(2, best[:, None, None].expand(-1, 2, 1)).squeeze(2)
    return (torch.stack([row, col], 1) + shift + 0.5) * CELL


def main(watch, faulty):
    x, centre = scenes(1200)
    xv, cv = scenes(300)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            model.train()
            for rows in torch.randperm(len(x)).split(50):
                loss = detection_loss(model(x[rows]), centre[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            sched.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
                val_loss = detection_loss(out, cv).item()
                hit = ((decode(out, faulty) - cv).norm(dim=1) < 1.0).float().mean().item()
            monitor.log(epoch=epoch, val_loss=val_loss, val_hit_rate=hit)
    return hit
