"""Claims per policy: the exposure is added to the log of the rate as it is, in days, instead of as the log of years."""

import torch
from torch import nn

FAMILY = "insurance offset"
EXPECTS = ("wrong-initial-loss", "stalled-loss", "underfitting", "unnormalised-input", "exploding-gradient")


def portfolio(n):
    age, power, city = torch.rand(n), torch.randn(n), (torch.rand(n) < 0.4).float()
    days = torch.where(torch.rand(n) < 0.5, torch.full((n,), 365.0), torch.randint(10, 365, (n,)).float())
    yearly = torch.exp(-0.2 + 1.3 * (age - 0.5).pow(2) * 4 - 0.3 + 0.35 * power + 0.5 * city)
    claims = torch.poisson(yearly * days / 365)
    return torch.stack([age * 2 - 1, power, city], 1), days, claims, yearly


class Frequency(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU())
        self.intercept = nn.Linear(32, 1)

    def forward(self, x, offset):
        return self.intercept(self.body(x)).squeeze(1) + offset


def main(watch, faulty):
    x, days, claims, _ = portfolio(6000)
    xv, days_v, claims_v, yearly = portfolio(1500)

    def offset(d):
        return d / 100 if faulty else torch.log(d / 365)

    model = Frequency()
    nll = nn.PoissonNLLLoss(log_input=True)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    epochs = 12
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, epochs=epochs, steps_per_epoch=60)
    with watch(model, opt) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x)).split(100):
                loss = nll(model(x[rows], offset(days[rows])), claims[rows])
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
                sched.step()
            with torch.no_grad():
                val = nll(model(xv, offset(days_v)), claims_v).item()
            monitor.log(epoch=epoch, val_loss=val)
    with torch.no_grad():
        year = model(xv, offset(torch.full_like(days_v, 365.0))).exp()
    return 1 - ((year - yearly).pow(2).mean() / yearly.var()).item()
