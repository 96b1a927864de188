"""Batch-hard triplet loss that takes the nearest sample as the negative and forgets to leave out the sample itself."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "metric learning"
EXPECTS = ("collapsed-activations", "stalled-loss", "constant-loss", "loss-at-chance")


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.net(x)


def batch_hard(z, labels, margin, mask_negatives):
    distance = torch.cdist(z, z)
    same = labels[:, None] == labels[None, :]
    positive = (distance * same).max(1).values
    if mask_negatives:
        distance = distance.masked_fill(same, float("inf"))
    negative = distance.min(1).values
    return F.relu(positive - negative + margin).mean()


@torch.no_grad()
def recall_at_1(z, labels):
    distance = torch.cdist(z, z)
    distance.fill_diagonal_(float("inf"))
    return (labels[distance.argmin(1)] == labels).float().mean().item()


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)
    seen = y < 6  # the rest are classes that are met at test time only
    loader = DataLoader(TensorDataset(x[seen], y[seen]), batch_size=60, shuffle=True, drop_last=True)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(25):
        for xb, yb in loader:
            loss = batch_hard(model(xb), yb, 0.3, mask_negatives=not faulty)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            recall = recall_at_1(model(x[~seen]), y[~seen])
        monitor.log(recall_at_1=recall, epoch=epoch)
    monitor.close()
    return recall
