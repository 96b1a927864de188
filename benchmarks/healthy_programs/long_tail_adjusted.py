"""Long-tailed classes (400 down to 8 rows) with logit adjustment; the test is balanced, so its loss lies above
training."""

import torch
import torch.nn.functional as F
from torch import nn


def main(watch):
    classes, d = 8, 16
    centres = 2.2 * torch.randn(classes, d) / d**0.25
    counts = torch.tensor([400, 230, 130, 75, 43, 25, 14, 8]) * 3
    y = torch.arange(classes).repeat_interleave(counts)
    x = centres[y] + torch.randn(len(y), d)
    yv = torch.arange(classes).repeat_interleave(60)
    xv = centres[yv] + torch.randn(len(yv), d)
    prior = (counts / counts.sum()).log()
    model = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, classes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    epochs = 16
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for rows in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[rows]) + prior, y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            schedule.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
            recall = torch.stack([(out.argmax(1) == yv)[yv == c].float().mean() for c in range(classes)])
            balanced = recall.mean().item()
            monitor.log(
                epoch=epoch,
                val_loss=F.cross_entropy(out, yv).item(),
                val_balanced_acc=balanced,
                val_worst=recall.min().item(),
            )
    assert balanced > 0.8, balanced
