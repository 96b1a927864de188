"""The validation loader shuffles, and its predictions are compared with the labels in the order of the file."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "evaluation"
EXPECTS = ("loss-without-accuracy", "metric-loss-disagreement", "nothing-generalises")


def main(watch, faulty):
    x, y, xt, yt = digits()
    train = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(xt, yt), batch_size=50, shuffle=faulty)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with watch(model, optimizer) as monitor:
        for _ in range(15):
            model.train()
            for inputs, labels in train:
                optimizer.zero_grad()
                criterion(model(inputs), labels).backward()
                optimizer.step()
            model.eval()
            preds, losses = [], []
            with torch.no_grad():
                for inputs, labels in val:
                    out = model(inputs)
                    losses.append(F.cross_entropy(out, labels).item())
                    preds.append(out.argmax(1))
            acc = (torch.cat(preds) == val.dataset.tensors[1]).float().mean().item()
            monitor.log(val_loss=sum(losses) / len(losses), val_accuracy=acc)
    return acc
