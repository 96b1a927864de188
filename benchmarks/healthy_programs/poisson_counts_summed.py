"""Bike hires in the hundreds, summed Poisson likelihood: huge negative losses, huge gradients, and nothing wrong."""

import torch
from torch import nn


def city(n):
    hour, temp, holiday = torch.rand(n) * 24, torch.randn(n), (torch.rand(n) < 0.1).float()
    log_rate = 5.5 + 0.8 * torch.sin((hour - 8) / 24 * 6.283) + 0.3 * temp - 0.15 * temp**2 - 0.6 * holiday
    x = torch.stack([torch.sin(hour / 24 * 6.283), torch.cos(hour / 24 * 6.283), temp, holiday], 1)
    return x, torch.poisson(log_rate.exp())


def main(watch):
    x, y = city(3000)
    xv, yv = city(600)
    net = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
    nn.init.constant_(net[-1].bias, y.mean().log().item())
    nll = nn.PoissonNLLLoss(log_input=True, reduction="sum")
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 25)
    monitor = watch(net, optimizer)
    for epoch in range(25):
        for rows in torch.randperm(len(x)).split(100):
            loss = nll(net(x[rows]).squeeze(1), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            out = net(xv).squeeze(1)
        monitor.log({"epoch": epoch, "val/nll": nll(out, yv).item() / len(xv)})
    monitor.close()
    explained = 1 - ((out.exp() - yv) ** 2).mean() / yv.var()
    assert explained > 0.9, explained
