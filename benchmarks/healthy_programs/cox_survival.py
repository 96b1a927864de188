"""DeepSurv: Cox partial likelihood over the whole training set, censored times, concordance logged."""

import torch
from torch import nn


def cox_loss(risk, time, event):
    order = time.argsort(descending=True)
    risk, event = risk[order], event[order]
    return -((risk - risk.logcumsumexp(0)) * event).sum() / event.sum()


def concordance(risk, time, event):
    comparable = (time[:, None] < time[None]) & event[:, None].bool()
    return ((risk[:, None] > risk[None]) & comparable).sum().item() / comparable.sum().item()


def main(watch):
    X = torch.randn(1200, 8)
    hazard = X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.7 * X[:, 2]
    time = torch.distributions.Exponential(hazard.exp()).sample()
    censor = torch.distributions.Exponential(torch.tensor(0.4)).sample((1200,))
    event, time = (time <= censor).float(), torch.minimum(time, censor)
    model = nn.Sequential(
        nn.Linear(8, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Dropout(0.3), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    monitor = watch(model, optimizer)
    for epoch in range(120):
        model.train()
        loss = cox_loss(model(X[:900])[:, 0], time[:900], event[:900])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            risk = model(X[900:])[:, 0]
            val, c_index = cox_loss(risk, time[900:], event[900:]).item(), concordance(risk, time[900:], event[900:])
        monitor.log(val_loss=val, c_index=c_index, epoch=epoch)
    monitor.close()
    assert c_index > 0.7
