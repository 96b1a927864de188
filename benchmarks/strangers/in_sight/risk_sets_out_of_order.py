"""Cox's partial likelihood over cumulative sums, and the patients are not sorted by their time."""

import torch
from torch import nn

FAMILY = "survival"
EXPECTS = (
    "nothing-generalises",
    "loss-without-accuracy",
    "stalled-loss",
    "underfitting",
    "loss-at-chance",
    "overfitting",
)


def concordance(risk, time, event):
    earlier = (time[:, None] < time[None, :]) & event[:, None].bool()
    return (risk[:, None] > risk[None, :])[earlier].float().mean().item()


def cox(risk, time, event, presorted):
    if not presorted:
        order = time.argsort(descending=True)
        risk, event = risk[order], event[order]
    return -((risk - torch.logcumsumexp(risk, 0)) * event).sum() / event.sum()


def main(watch, faulty):
    x = torch.randn(3000, 12)
    hazard = x[:, 0] + 0.8 * x[:, 1] * x[:, 2] - 0.6 * x[:, 3]
    death = -torch.rand(3000).log() / hazard.exp()
    censored = torch.rand(3000) * 60
    time, event = torch.minimum(death, censored), (death <= censored).float()
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    with watch(model, opt) as monitor:
        for _ in range(30):
            for idx in torch.randperm(2400).split(120):
                loss = cox(model(x[idx]).squeeze(1), time[idx], event[idx], presorted=faulty)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                c = concordance(model(x[2400:]).squeeze(1), time[2400:], event[2400:])
            monitor.log(val_c_index=c)
    return c
