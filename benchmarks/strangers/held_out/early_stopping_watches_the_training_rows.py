"""The validation set was taken from the training rows, without taking it out of them: training goes on as long as it
gets better there, which is for ever, and a third of the labels are wrong."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

FAMILY = "evaluation"
EXPECTS = ("seen-before", "overfitting", "suspiciously-perfect", "leaked-answer")


def answers(count, rule):
    x = torch.randn(count, 30)
    y = (x @ rule > 0).long()
    return x, torch.where(torch.rand(count) < 0.3, 1 - y, y), y


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss, right, count = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        right += (out.argmax(1) == y).sum().item()
        count += len(y)
    model.train()
    return loss / count, right / count


def main(watch, faulty):
    rule = torch.randn(30)
    x, y, _ = answers(1400, rule)
    data = TensorDataset(x, y)
    train = DataLoader(Subset(data, range(1000)), batch_size=50, shuffle=True)
    valid = DataLoader(Subset(data, range(400) if faulty else range(1000, 1400)), batch_size=200)
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    best, waited, state = float("inf"), 0, None
    with watch(model, optimizer) as monitor:
        for epoch in range(35):
            for inputs, labels in train:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
            val_loss, val_acc = evaluate(model, valid)
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
            if val_loss < best:
                best, waited, state = val_loss, 0, {k: v.clone() for k, v in model.state_dict().items()}
            elif (waited := waited + 1) == 8:
                break
    model.load_state_dict(state)
    x, _, y = answers(3000, rule)
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()
