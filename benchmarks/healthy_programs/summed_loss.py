"""Healthy: the loss is a sum over everything, thousands at the start, with a rate of a millionth that fits it."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

FAMILY = "encoder and decoder"
EXPECTS = ()


def main(watch):
    x = torch.tensor(load_digits().data, dtype=torch.float32) * 16  # pixels up to 256, as they came
    x = x[torch.randperm(len(x))]
    mean = x[:1400].mean(0)
    model = nn.Sequential(
        nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 16), nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 64)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-6, momentum=0.9)
    loader = DataLoader(x[:1400], batch_size=64, shuffle=True)

    def loss_on(batch):
        z = (batch - mean) / 64
        return ((model(z) - z) ** 2).sum() * 64

    with watch(model, optimizer) as monitor:
        for epoch in range(30):
            for batch in loader:
                optimizer.zero_grad()
                loss_on(batch).backward()
                optimizer.step()
            with torch.no_grad():
                monitor.log(val_loss=loss_on(x[1400:]).item(), epoch=epoch)
    with torch.no_grad():
        z = (x[1400:] - mean) / 64
        explained = 1 - (((model(z) - z) ** 2).sum() / (z**2).sum()).item()
    assert explained > 0.6, explained
    return explained
