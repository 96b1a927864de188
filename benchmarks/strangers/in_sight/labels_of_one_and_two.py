"""Binary labels counted from one (1 and 2) in BCEWithLogitsLoss: the loss has no floor."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("unreachable-target", "unbounded-negative-loss", "mismatched-loss")


def main(watch, faulty):
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    target = y + 1 if faulty else y
    model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer):
        for _ in range(200):
            optimizer.zero_grad()
            out = model(x).squeeze(1)
            loss = criterion(out, target)
            loss.backward()
            optimizer.step()
    return ((model(x).squeeze(1) > 0).float() == y).float().mean().item()
