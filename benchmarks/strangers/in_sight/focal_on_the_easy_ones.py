"""The focal loss weighs with p to the gamma instead of one minus p: what is hard is hardly counted."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "focal loss"
EXPECTS = (
    "worse-than-guess",
    "gap-from-start",
    "worsening-metric",
    "metric-loss-disagreement",
    "nothing-generalises",
    "loss-without-accuracy",
)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, easy=False):
        super().__init__()
        self.gamma, self.easy = gamma, easy

    def forward(self, logits, target):
        log_p = F.log_softmax(logits, 1).gather(1, target[:, None]).squeeze(1)
        p = log_p.exp()
        weight = p if self.easy else 1 - p
        return -(weight**self.gamma * log_p).mean()


def evaluate(model, loader):
    model.eval()
    hits, nll, n = torch.zeros(6), 0.0, torch.zeros(6)
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            nll += F.cross_entropy(out, yb, reduction="sum").item()
            for c in range(6):
                hits[c] += ((out.argmax(1) == yb) & (yb == c)).sum()
                n[c] += (yb == c).sum()
    model.train()
    return nll / n.sum().item(), (hits / n).mean().item()


def main(watch, faulty):
    x, y = make_classification(
        5000,
        24,
        n_informative=14,
        n_redundant=4,
        n_classes=6,
        n_clusters_per_class=1,
        class_sep=1.6,
        flip_y=0.01,
        random_state=3,
    )
    data = TensorDataset(torch.tensor(x, dtype=torch.float32) / 2, torch.tensor(y))
    train, val = torch.utils.data.random_split(data, [4000, 1000])
    loader, val_loader = DataLoader(train, 64, shuffle=True), DataLoader(val, 250)
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
    criterion = FocalLoss(easy=faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 14)
    with watch(model, optimizer) as monitor:
        for epoch in range(14):
            for xb, yb in loader:
                optimizer.zero_grad()
                criterion(model(xb), yb).backward()
                optimizer.step()
            sched.step()
            loss, recall = evaluate(model, val_loader)
            monitor.log(epoch=epoch, val_loss=loss, val_balanced_acc=recall)
    return recall
