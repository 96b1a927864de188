"""Class names are "1" to "12". The training set numbers them in the order of strings (1, 10, 11, 12, 2 ...), validation
and the service in production in the order of numbers."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "data pipeline"
EXPECTS = (
    "misread-validation",
    "gap-from-start",
    "nothing-generalises",
    "worse-than-guess",
    "worsening-metric",
    "overfitting",
)

NAMES = [str(name) for name in range(1, 13)]


def rooms(count, prints):
    """Signal strengths of nine stations, and the number of the room where they were measured."""
    room = torch.randint(0, 12, (count,))
    return prints[room] + 0.8 * torch.randn(count, 9), [NAMES[i] for i in room]


def encode(names, order):
    return torch.tensor([order.index(name) for name in names])


def main(watch, faulty):
    prints = 2 * torch.randn(12, 9)
    x, names = rooms(2000, prints)
    x_val, names_val = rooms(400, prints)
    x_test, names_test = rooms(1000, prints)
    y = encode(names, sorted(NAMES) if faulty else NAMES)
    y_val, y_test = encode(names_val, NAMES), encode(names_test, NAMES)
    model = nn.Sequential(nn.Linear(9, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for epoch in range(8):
            model.train()
            for i in range(0, len(x), 50):
                out = model(x[i : i + 50])
                loss = F.cross_entropy(out, y[i : i + 50])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(x_val)
            accuracy = (out.argmax(1) == y_val).float().mean().item()
            print(f"epoch {epoch}: train {loss.item():.3f}, validation accuracy {accuracy:.3f}")
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, y_val).item(), val_accuracy=accuracy)
    with torch.no_grad():
        return (model(x_test).argmax(1) == y_test).float().mean().item()
