"""Hinton's forward-forward: each layer has its own optimizer and its own goodness loss; layers take turns."""

import torch
from sklearn.datasets import load_digits
from torch import nn


class Layer(nn.Linear):
    def __init__(self, *size):
        super().__init__(*size)
        self.opt = torch.optim.Adam(self.parameters(), lr=0.003)
        self.threshold = 2.0

    def forward(self, x):
        x = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return torch.relu(x @ self.weight.T + self.bias)


def overlay(x, y):
    x = x.clone()
    x[:, :10] = 0
    x[range(len(x)), y] = x.max()
    return x


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    X = torch.cat([torch.zeros(len(X), 10), X], 1)
    net = nn.ModuleList([Layer(74, 200), Layer(200, 200)])
    monitor = watch(net, [layer.opt for layer in net])

    def predict(x):
        goodness = []
        for label in range(10):
            h, g = overlay(x, torch.full((len(x),), label)), 0
            for layer in net:
                h = layer(h)
                g = g + h.pow(2).sum(1)
            goodness.append(g)
        return torch.stack(goodness, 1).argmax(1)

    for i, layer in enumerate(net):
        for step in range(300):
            idx = torch.randint(0, 1400, (256,))
            pos, neg = overlay(X[idx], y[idx]), overlay(X[idx], (y[idx] + torch.randint(1, 10, (256,))) % 10)
            with torch.no_grad():
                for below in net[:i]:
                    pos, neg = below(pos), below(neg)
            g_pos, g_neg = layer(pos).pow(2).sum(1), layer(neg).pow(2).sum(1)
            loss = nn.functional.softplus(torch.cat([layer.threshold - g_pos, g_neg - layer.threshold])).mean()
            layer.opt.zero_grad()
            loss.backward()
            layer.opt.step()
            if step % 100 == 99:
                with torch.no_grad():
                    monitor.log(test_error=1 - (predict(X[1400:]) == y[1400:]).float().mean().item())
    monitor.close()
    with torch.no_grad():
        assert (predict(X[1400:]) == y[1400:]).float().mean() > 0.6
