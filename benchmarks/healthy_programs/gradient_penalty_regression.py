"""Regression with a penalty on the input gradient (double backward) for a smooth fit."""

import torch
from torch import nn


def main(watch):
    f = lambda x: torch.sin(2 * x[:, :1]) * x[:, 1:2]  # noqa: E731
    net = nn.Sequential(nn.Linear(2, 64), nn.Softplus(), nn.Linear(64, 64), nn.Softplus(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=400, gamma=0.3)
    watcher = watch(net, opt)
    xv = torch.rand(500, 2) * 4 - 2
    for i in range(1000):
        x = (torch.rand(128, 2) * 4 - 2).requires_grad_(True)
        out = net(x)
        (gx,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        loss = nn.functional.mse_loss(out, f(x.detach())) + 1e-4 * gx.pow(2).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if i % 100 == 99:
            with torch.no_grad():
                rmse = nn.functional.mse_loss(net(xv), f(xv)).sqrt().item()
            watcher.log(rmse=rmse)
    watcher.close()
    assert rmse < 0.3
