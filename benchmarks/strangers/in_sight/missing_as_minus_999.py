"""Empty cells were filled with -999, a code of the file format; a standardised table would have shown it."""

import torch
from torch import nn

FAMILY = "data pipeline"
EXPECTS = ("unnormalised-input", "extreme-input", "noisy-loss", "oversized-update", "underfitting", "stalled-loss",
           "bad-batch", "loss-spike")  # fmt: skip


def main(watch, faulty):
    x = torch.randn(1800, 12)
    y = x[:, 0] - x[:, 1] + x[:, 2] * x[:, 3] + 0.2 * torch.randn(1800)
    empty = torch.rand(1800, 12) < 0.05
    x = torch.where(empty, torch.tensor(-999.0 if faulty else 0.0), x)
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(20):
            for i in torch.randperm(1400).split(32):
                loss = nn.functional.mse_loss(net(x[i]).squeeze(-1), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = nn.functional.mse_loss(net(x[1400:]).squeeze(-1), y[1400:]).item()
            monitor.log(val_mse=val)
    return -val
