"""MAML that adapts a copy on the support set and then computes the query loss with the weights it had before."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

FAMILY = "meta-learning"
EXPECTS = ("stalled-loss", "underfitting", "stuck-from-start", "noisy-loss", "loss-at-chance")


def task():
    size, phase = torch.rand(1) * 4 + 1, torch.rand(1) * 3.1
    x = torch.rand(20, 1) * 10 - 5
    return x, size * torch.sin(x + phase)


def adapted(net, x, y, graph):
    weights = dict(net.named_parameters())
    loss = F.mse_loss(functional_call(net, weights, (x,)), y)
    grads = torch.autograd.grad(loss, list(weights.values()), create_graph=graph)
    return {name: w - 0.02 * g for (name, w), g in zip(weights.items(), grads, strict=True)}


def main(watch, faulty):
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    meta = torch.optim.Adam(net.parameters(), lr=3e-3)
    held_out = [task() for _ in range(100)]
    with watch(net, meta) as monitor:
        for it in range(800):
            loss = torch.zeros(())
            for _ in range(4):
                x, y = task()
                fast = adapted(net, x[:10], y[:10], True)
                out = net(x[10:]) if faulty else functional_call(net, fast, (x[10:],))
                loss = loss + F.mse_loss(out, y[10:]) / 4
            meta.zero_grad()
            loss.backward()
            meta.step()
            if it % 50 == 49:
                after = 0.0
                for x, y in held_out:
                    fast = adapted(net, x[:10], y[:10], False)
                    with torch.no_grad():
                        after += F.mse_loss(functional_call(net, fast, (x[10:],)), y[10:]).item() / 100
                monitor.log(val_loss=after)
    return -after
