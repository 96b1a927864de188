"""MAML on sine waves: one inner step by hand with functional_call, the outer Adam over eight tasks."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def task():
    a, ph = torch.rand(1) * 4.9 + 0.1, torch.rand(1) * torch.pi
    return lambda n: (x := torch.rand(n, 1) * 10 - 5, a * torch.sin(x + ph))


def adapted(net, x, y, lr=0.02, create_graph=True):
    params = dict(net.named_parameters())
    loss = F.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
    return {k: v - lr * g for (k, v), g in zip(params.items(), grads, strict=True)}, loss


def main(watch):
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    meta = torch.optim.Adam(net.parameters(), lr=2e-3)
    monitor = watch(net, meta)
    before, after = [], []
    for it in range(500):
        losses = []
        for _ in range(8):
            draw = task()
            fast, _ = adapted(net, *draw(10))
            xq, yq = draw(10)
            losses.append(F.mse_loss(functional_call(net, fast, (xq,)), yq))
        meta_loss = torch.stack(losses).mean()
        meta.zero_grad()
        meta_loss.backward()
        meta.step()
        (before if it < 50 else after).append(meta_loss.item())
        if it % 50 == 49:
            monitor.log(query_loss=meta_loss.item())
    monitor.close()
    assert sum(after[-50:]) / 50 < 0.8 * sum(before[:20]) / 20
