"""The hinge loss expects labels of plus and minus one and is given zeros and ones."""

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn

FAMILY = "hinge loss"
EXPECTS = ("mismatched-loss", "worsening-metric", "stalled-loss", "loss-without-accuracy", "underfitting")


def hinge(score, label):
    return torch.clamp(1 - label * score, min=0).mean()


class Margin(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.hidden = nn.Linear(d, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x))).squeeze(1)


def main(watch, faulty):
    x, y = load_breast_cancer(return_X_y=True)
    order = torch.randperm(len(x)).numpy()
    x, y = x[order], y[order]
    scaler = StandardScaler().fit(x[:400])
    x = torch.tensor(scaler.transform(x), dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    label = y if faulty else 2 * y - 1
    model = Margin(30)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-2)
    with watch(model, opt) as monitor:
        for epoch in range(40):
            for idx in torch.randperm(400).split(32):
                loss = hinge(model(x[idx]), label[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            for g in opt.param_groups:
                g["lr"] = 0.02 * (1 - epoch / 40)
            with torch.no_grad():
                score = model(x[400:])
            guess = (score > 0).float()
            recall = [(guess[y[400:] == c] == c).float().mean().item() for c in (0, 1)]
            monitor.log(val_loss=hinge(score, label[400:]).item(), val_balanced_accuracy=sum(recall) / 2)
    return sum(recall) / 2
