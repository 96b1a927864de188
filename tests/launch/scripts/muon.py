"""Muon for the matrices, AdamW for the rest: two optimizers for one model, stepped together."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and not name.startswith(("0.", "4."))]
rest = [p for p in model.parameters() if all(p is not m for m in matrices)]
optimizers = [torch.optim.Muon(matrices, lr=0.01, weight_decay=0.0), torch.optim.AdamW(rest, lr=3e-3)]
schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(each, 200) for each in optimizers]
w = torch.randn(16, 4)
for step in range(200):
    x = torch.randn(64, 16)
    loss = nn.functional.cross_entropy(model(x), (x @ w + torch.randn(64, 4)).argmax(1))
    loss.backward()
    for opt, sched in zip(optimizers, schedulers):
        opt.step()
        sched.step()
    model.zero_grad(set_to_none=True)
torch.save(model.state_dict(), sys.argv[1])
