"""Training columns stay raw around 3 with spread 2, validation columns are standardised with their own statistics."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "erratic-validation")


def main(watch, faulty):
    x = torch.randn(2400, 8) * 2 + 3
    y = (x[:, 0] * x[:, 1] / 4 + x[:, 2]).unsqueeze(1)
    y = (y - y.mean()) / y.std()
    xt = (x[2000:] - x[2000:].mean(0)) / x[2000:].std(0) if faulty else x[2000:]
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    monitor = watch(model, optimizer)
    for _epoch in range(20):
        for idx in torch.randperm(2000).split(50):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = criterion(model(xt), y[2000:]).item()
        monitor.log(val_loss=val)
    monitor.close()
    return -val
