"""Codes of sixteen bits for retrieval: tanh units are driven to their ends on purpose, so that the sign loses
nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits


class Hasher(nn.Module):
    def __init__(self, bits=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, bits))
        self.head = nn.Linear(bits, 10, bias=False)

    def forward(self, x, sharpness=1.0):
        code = torch.tanh(sharpness * self.body(x))
        return code, self.head(code)


def precision(model, base, base_y, query, query_y, k=20):
    with torch.no_grad():
        a, b = model(base)[0].sign(), model(query)[0].sign()
    near = (b @ a.T).topk(k, 1).indices
    return (base_y[near] == query_y[:, None]).float().mean().item()


def main(watch):
    x, y, xv, yv = digits()
    model = Hasher()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    epochs = 25
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        sharpness = 1 + 3 * epoch / epochs
        for rows in torch.randperm(len(x)).split(50):
            code, logits = model(x[rows], sharpness)
            quantisation = (code.abs() - 1).pow(2).mean()
            balance = code.mean(0).pow(2).mean()
            loss = F.cross_entropy(logits, y[rows]) + 0.3 * quantisation + 0.1 * balance
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        found = precision(model, x, y, xv, yv)
        with torch.no_grad():
            val = F.cross_entropy(model(xv, sharpness)[1], yv).item()
        monitor.log(epoch=epoch, val_loss=val, val_precision_at_20=found)
    monitor.close()
    assert found > 0.85, found
