"""A soft decision tree: sigmoid gates route each row to a leaf and become hard, as they should."""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn


class SoftTree(nn.Module):
    def __init__(self, d, depth=4, classes=2):
        super().__init__()
        self.depth = depth
        self.split = nn.Linear(d, 2**depth - 1)
        self.leaf = nn.Parameter(0.1 * torch.randn(2**depth, classes))

    def forward(self, x):
        right = torch.sigmoid(2 * self.split(x))
        reach = x.new_ones(len(x), 1)
        for level in range(self.depth):
            p = right[:, 2**level - 1 : 2 ** (level + 1) - 1]
            reach = torch.stack([reach * (1 - p), reach * p], 2).flatten(1)
        return (reach @ self.leaf.softmax(1)).clamp_min(1e-6).log()


def main(watch):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    x = (x - x[:420].mean(0)) / x[:420].std(0)
    tree = SoftTree(30)
    optimizer = torch.optim.Adam(tree.parameters(), lr=1e-2, weight_decay=1e-3)
    epochs = 40
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    criterion = nn.NLLLoss()
    with watch(tree, optimizer) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(420).split(32):
                optimizer.zero_grad()
                criterion(tree(x[rows]), y[rows]).backward()
                optimizer.step()
            schedule.step()
            with torch.no_grad():
                out = tree(x[420:])
            acc = (out.argmax(1) == y[420:]).float().mean().item()
            monitor.log(epoch=epoch, val_loss=criterion(out, y[420:]).item(), val_acc=acc)
    assert acc > 0.9, acc
