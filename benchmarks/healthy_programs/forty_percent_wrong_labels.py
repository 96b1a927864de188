"""Four labels in ten are wrong and the loss (generalised cross entropy) knows it: the training accuracy stays at
sixty percent."""

import torch
from torch import nn

from strangers.common import digits


def generalised_cross_entropy(logits, target, q=0.7):
    p = logits.softmax(1).gather(1, target[:, None]).clamp_min(1e-7)
    return ((1 - p**q) / q).mean()


def main(watch):
    x, y, xv, yv = digits()
    wrong = torch.rand(len(y)) < 0.4
    noisy = torch.where(wrong, torch.randint(0, 10, y.shape), y)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-3)
    epochs = 30
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            right, total = 0, 0.0
            for rows in torch.randperm(len(x)).split(50):
                out = model(x[rows])
                loss = generalised_cross_entropy(out, noisy[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                right += (out.argmax(1) == noisy[rows]).sum().item()
                total += loss.item() * len(rows)
            schedule.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(
                epoch=epoch,
                train_loss=total / len(x),
                train_acc=right / len(x),
                val_loss=generalised_cross_entropy(out, yv).item(),
                val_acc=acc,
            )
    assert acc > 0.88, acc
