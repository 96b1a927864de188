"""A yes-or-no classifier of one output with a softmax at the end: the answer is one, whatever is asked."""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

FAMILY = "classification"
EXPECTS = (
    "collapsed-activations",
    "constant-loss",
    "stuck-from-start",
    "dead-layer",
    "faded-gradient",
    "mismatched-loss",
)


def main(watch, faulty):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32).view(-1, 1)
    x = (x - x.mean(0)) / x.std(0)
    order = torch.randperm(len(x))
    train, val = order[:450], order[450:]
    model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1), nn.Softmax(dim=1) if faulty else nn.Sigmoid())
    criterion = nn.BCELoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(40):
            for idx in train[torch.randperm(450)].split(16):
                loss = criterion(model(x[idx]), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                acc = ((model(x[val]) > 0.5) == y[val]).float().mean().item()
            monitor.log(accuracy=acc)
    return acc
