"""Raw columns between 1e-3 and 4e3 go straight into an MLP."""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

from strangers.common import fit

FAMILY = "tabular"
EXPECTS = ("unnormalised-input", "extreme-input")


def main(watch, faulty):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    x = x if faulty else (x - x.mean(0)) / x.std(0)
    model = nn.Sequential(nn.Linear(30, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    return fit(watch, model, optimizer, (x[:450], y[:450], x[450:], y[450:]), epochs=25, batch=32)
