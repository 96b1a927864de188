"""Random Fourier features: the first layer is random and stays so, that is the method; only the linear part is
learned."""

import math

import torch
from sklearn.datasets import make_circles
from torch import nn


class RandomFeatures(nn.Module):
    def __init__(self, d, features, gamma):
        super().__init__()
        self.proj = nn.Linear(d, features)
        nn.init.normal_(self.proj.weight, std=math.sqrt(2 * gamma))
        nn.init.uniform_(self.proj.bias, 0, 2 * math.pi)
        self.proj.requires_grad_(False)

    def forward(self, x):
        return math.sqrt(2 / self.proj.out_features) * torch.cos(self.proj(x))


def main(watch):
    x, y = make_circles(2000, factor=0.6, noise=0.1, random_state=1)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32) * 2 - 1
    model = nn.Sequential(RandomFeatures(2, 300, gamma=3.0), nn.Linear(300, 1))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=1.0, momentum=0.9, weight_decay=1e-4)
    epochs = 20
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=epochs)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        for rows in torch.randperm(1500).split(50):
            loss = nn.functional.soft_margin_loss(model(x[rows]).squeeze(1), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            out = model(x[1500:]).squeeze(1)
        acc = (out.sign() == y[1500:]).float().mean().item()
        monitor.log(epoch=epoch, val_loss=nn.functional.soft_margin_loss(out, y[1500:]).item(), val_acc=acc)
    monitor.close()
    assert acc > 0.9, acc
