"""Lottery tickets: train, cut away the smallest weights, put the rest back to their first values, train again."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


def apply_masks(model, masks):
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in masks:
                p.mul_(masks[name])


def prune(model, masks, share):
    for name, p in model.named_parameters():
        if name in masks:
            alive = p[masks[name].bool()].abs()
            threshold = alive.quantile(share)
            masks[name] = masks[name] * (p.abs() > threshold)


def main(watch):
    x, y, xv, yv = digits()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    first = copy.deepcopy(model.state_dict())
    masks = {n: torch.ones_like(p) for n, p in model.named_parameters() if p.dim() > 1}
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for cycle in range(4):
        if cycle:
            prune(model, masks, 0.5)
            model.load_state_dict(first)
            apply_masks(model, masks)
            optimizer.state.clear()
        for _epoch in range(8):
            for rows in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                apply_masks(model, masks)
            loss, acc = accuracy(model, xv, yv)
            alive = sum(m.sum() for m in masks.values()) / sum(m.numel() for m in masks.values())
            monitor.log({"cycle": cycle, "val/loss": loss, "val/acc": acc, "alive": alive.item()})
    monitor.close()
    assert acc > 0.9 and alive < 0.15, (acc, alive)
