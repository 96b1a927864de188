"""Survival times under censoring: the flag means censored, the likelihood reads it as the event."""

import torch
from torch import nn

FAMILY = "survival"
EXPECTS = ("metric-loss-disagreement", "worsening-metric", "loss-without-accuracy", "nothing-generalises",
           "stalled-loss")  # fmt: skip


def patients(n):
    x = torch.randn(n, 6)
    rate = torch.exp(1.0 * x[:, 0] - 0.8 * x[:, 1])
    true = -torch.log(torch.rand(n)) / rate
    end = -torch.log(torch.rand(n)) / torch.exp(-0.5 * x[:, 0] + 0.8 * x[:, 1] + 0.5)
    return x, torch.minimum(true, end), (true > end).float()


def concordance(risk, time, died):
    earlier = (time[:, None] < time[None]) & (died[:, None] > 0)
    return ((risk[:, None] > risk[None]) & earlier).sum().item() / earlier.sum().item()


def main(watch, faulty):
    (x, time, censored), (xv, tv, cv) = patients(1500), patients(400)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def nll(log_rate, t, flag):
        event = flag if faulty else 1 - flag
        return (t * log_rate.exp() - event * log_rate).mean()

    with watch(model, optimizer) as monitor:
        for _ in range(15):
            for idx in torch.randperm(1500).split(50):
                loss = nll(model(x[idx]).squeeze(1), time[idx], censored[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv).squeeze(1)
            c = concordance(out, tv, 1 - cv)
            monitor.log(val_loss=nll(out, tv, cv).item(), val_c_index=c)
    return c
