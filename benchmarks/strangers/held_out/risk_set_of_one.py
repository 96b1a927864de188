"""Cox's partial likelihood compares a patient with those still at risk; with batches of one patient it is the
logarithm of one, whatever the network says."""

import torch
import torch.nn as nn

FAMILY = "survival"
EXPECTS = ("constant-loss", "dead-layer", "stuck-from-start", "suspiciously-perfect", "faded-gradient")


def patients(n):
    x = torch.randn(n, 10)
    risk = x[:, 0] + 0.7 * x[:, 1] * (x[:, 2] > 0) - 0.8 * x[:, 3]
    death = -torch.log(torch.rand(n)) / torch.exp(1.5 * risk)
    leaves = -torch.log(torch.rand(n)) * 3
    return x, torch.minimum(death, leaves), (death <= leaves).float()


def cox_loss(log_hazard, time, event):
    order = torch.argsort(time, descending=True)
    h, e = log_hazard[order], event[order]
    log_risk = torch.logcumsumexp(h, 0)
    return -((h - log_risk) * e).sum() / e.sum().clamp(min=1)


def concordance(log_hazard, time, event):
    earlier = (time[:, None] < time[None, :]) & (event[:, None] > 0)
    right = (log_hazard[:, None] > log_hazard[None, :]).float() + 0.5 * (
        log_hazard[:, None] == log_hazard[None, :]
    ).float()
    return right[earlier].mean().item()


def main(watch, faulty):
    x, time, event = patients(2500)
    held = patients(500)
    batch_size = 1 if faulty else 64
    net = nn.Sequential(
        nn.Linear(10, 32), nn.SELU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 1, bias=False)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    steps = 700
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with watch(net, optimizer) as monitor:
        for step in range(steps):
            net.train()
            idx = torch.randperm(len(x))[:batch_size]
            loss = cox_loss(net(x[idx]).view(-1), time[idx], event[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % 70 == 69:
                net.eval()
                with torch.no_grad():
                    h = net(held[0]).view(-1)
                monitor.log(step=step, val_loss=cox_loss(h, *held[1:]).item(), val_cindex=concordance(h, *held[1:]))
    return concordance(h, *held[1:])
