"""Two parts in a hundred have a defect, and the loss counts every part alike: the network learns to say that all is
well. The twin weighs the defects."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "imbalance"
EXPECTS = (
    "lopsided-labels",
    "loss-without-accuracy",
    "frozen-validation",
    "stalled-loss",
    "category-gap",
    "loss-at-chance",
)


def parts(count):
    """Twenty measurements; a defect shows in a few of them, and never clearly."""
    x = torch.randn(count, 20)
    defect = torch.rand(count) < 0.02
    x[:, :4] += 1.1 * defect[:, None]
    return x, defect.float()


def f_score(model, x, y):
    model.eval()
    with torch.no_grad():
        found = model(x).squeeze(1) > 0
    model.train()
    recall = (found & (y == 1)).sum() / (y == 1).sum()
    silence = (~found & (y == 0)).sum() / (y == 0).sum()
    return (found == (y == 1)).float().mean().item(), ((recall + silence) / 2).item()


def main(watch, faulty):
    x, y = parts(6000)
    xv, yv = parts(2000)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))
    criterion = nn.BCEWithLogitsLoss(pos_weight=None if faulty else torch.tensor(30.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
    with watch(model, optimizer) as monitor:
        for epoch in range(6):
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = criterion(model(inputs).squeeze(1), labels)
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                val_loss = criterion(model(xv).squeeze(1), yv).item()
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=f_score(model, xv, yv)[0])
    return f_score(model, *parts(20000))[1]
