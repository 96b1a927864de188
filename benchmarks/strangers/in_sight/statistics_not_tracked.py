"""BatchNorm with track_running_stats=False: the evaluation, which goes class by class, normalises each batch by
itself."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "batch statistics"
EXPECTS = ("mixed-samples", "gap-from-start", "nothing-generalises", "misread-validation", "evaluating-in-train-mode")


class Net(nn.Module):
    def __init__(self, track):
        super().__init__()
        self.fc1, self.bn1 = nn.Linear(64, 96), nn.BatchNorm1d(96, track_running_stats=track)
        self.fc2, self.bn2 = nn.Linear(96, 48), nn.BatchNorm1d(48, track_running_stats=track)
        self.fc3 = nn.Linear(48, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        return self.fc3(F.relu(self.bn2(self.fc2(x))))


def per_class(model, x, y):
    """Loss and accuracy over one batch of each class, as the report wants them."""
    model.eval()
    loss, hits = 0.0, 0
    with torch.no_grad():
        for c in range(10):
            xc, yc = x[y == c], y[y == c]
            out = model(xc)
            loss += F.cross_entropy(out, yc, reduction="sum").item()
            hits += (out.argmax(1) == yc).sum().item()
    model.train()
    return loss / len(y), hits / len(y)


def main(watch, faulty):
    x, y, xv, yv = digits()
    model = Net(track=not faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 11], gamma=0.2)
    with watch(model, optimizer) as monitor:
        for epoch in range(13):
            for rows in torch.randperm(len(x)).split(40):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            sched.step()
            loss, acc = per_class(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    return acc
