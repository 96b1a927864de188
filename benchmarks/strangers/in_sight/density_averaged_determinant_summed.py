"""A normalising flow that averages the base density over the dimensions and sums the log-determinant: stretching pays
more than it costs, so the flow spreads its codes ever wider."""

import torch
from sklearn.datasets import load_digits
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbalanced-loss-parts", "unbounded-negative-loss", "growing-activations", "runaway-weights")


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.Linear(96, 64))
        nn.init.zeros_(self.net[2].weight), nn.init.zeros_(self.net[2].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, 1)
        scale = 2 * torch.tanh(scale / 2)
        b = b * scale.exp() + shift
        return torch.cat([b, a] if self.flip else [a, b], 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(6))

    def forward(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return x, total


def main(watch, faulty):
    x = (torch.tensor(load_digits().data, dtype=torch.float32) + torch.rand(1797, 64)) / 8.5 - 1
    x = x[torch.randperm(len(x))]
    train, held = x[:1400], x[1400:]
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)

    def loss_of(batch):
        z, log_det = flow(batch)
        log_prob = torch.distributions.Normal(0, 1).log_prob(z)
        return -((log_prob.mean(1) if faulty else log_prob.sum(1)) + log_det).mean()

    with watch(flow, optimizer) as monitor:
        for _ in range(25):
            for idx in torch.randperm(len(train)).split(64):
                loss = loss_of(train[idx])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(flow.parameters(), 50.0)
                optimizer.step()
            with torch.no_grad():
                monitor.log(val_loss=loss_of(held).item())
    with torch.no_grad():
        z, log_det = flow(held)
        return (torch.distributions.Normal(0, 1).log_prob(z).sum(1) + log_det).mean().item()
