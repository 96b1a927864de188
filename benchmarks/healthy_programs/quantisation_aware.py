"""Quantisation-aware fine-tuning: weights and activations rounded to four bits with straight-through gradients."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def fake_quantise(x, bits=4):
    scale = x.detach().abs().max() / (2 ** (bits - 1) - 1) + 1e-8
    return x + ((x / scale).round() * scale - x).detach()


class QLinear(nn.Linear):
    quantise = False

    def forward(self, x):
        return (
            F.linear(fake_quantise(x), fake_quantise(self.weight), self.bias) if self.quantise else super().forward(x)
        )


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(QLinear(64, 96), nn.ReLU(), QLinear(96, 96), nn.ReLU(), QLinear(96, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(16):
        if epoch == 8:
            for layer in model:
                layer.quantise = True
            for group in optimizer.param_groups:
                group["lr"] = 5e-4
        for i in torch.randperm(1400).split(50):
            loss = F.cross_entropy(model(X[i]), y[i])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(X[1400:])
        accuracy = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
