"""Three corrupt rows (a decimal point in the wrong place) in a regression table."""

import torch
from torch import nn

FAMILY = "data pipeline"
EXPECTS = ("bad-batch", "loss-spike", "extreme-input", "exploding-gradient", "noisy-loss")


def main(watch, faulty):
    x = torch.randn(1500, 8)
    y = x @ torch.randn(8) + 0.1 * torch.randn(1500)
    x[[100, 500, 900]] *= 3000.0 if faulty else 1.0
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    for _ in range(12):
        for i in torch.randperm(1200).split(32):
            loss = nn.functional.smooth_l1_loss(model(x[i]).squeeze(1), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = nn.functional.smooth_l1_loss(model(x[1200:]).squeeze(1), y[1200:]).item()
        monitor.log(val_loss=val)
    monitor.close()
    return -val
