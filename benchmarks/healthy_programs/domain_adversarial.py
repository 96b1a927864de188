"""Gradient reversal: the domain part of the loss rises to ln 2 on purpose while the labels are learned."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.label = nn.Linear(24, 3)
        self.domain = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, weight=0.0):
        h = self.features(x)
        return self.label(h), self.domain(Reverse.apply(h, weight)).squeeze(1)


def sample(n, centres, shift):
    y = torch.randint(0, 3, (n,))
    meaning = centres[y] + 0.7 * torch.randn(n, 8)
    return torch.cat([meaning, shift + torch.randn(n, 4)], 1), y


def main(watch):
    centres = 1.2 * torch.randn(3, 8)
    shift = torch.full((4,), 0.5)
    xt, yt = sample(600, centres, shift)
    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    steps = 900
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            progress = step / steps
            strength = 2 / (1 + math.exp(-10 * progress)) - 1
            optimizer.param_groups[0]["lr"] = 0.02 / (1 + 10 * progress) ** 0.75
            xs, ys = sample(64, centres, -shift)
            xu, _ = sample(64, centres, shift)
            label, domain = model(torch.cat([xs, xu]), strength)
            where = torch.cat([torch.zeros(64), torch.ones(64)])
            label_loss = F.cross_entropy(label[:64], ys)
            domain_loss = F.binary_cross_entropy_with_logits(domain, where)
            loss = label_loss + domain_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 60 == 59:
                with torch.no_grad():
                    out = model(xt)[0]
                acc = (out.argmax(1) == yt).float().mean().item()
                monitor.log(step=step, label_loss=label_loss.item(), domain_loss=domain_loss.item(), target_acc=acc)
    assert acc > 0.8, acc
