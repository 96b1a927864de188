"""A small real training, watched, slow enough to look at; its learning rate leaps at step 120."""

import sys
import time

import torch
from torch.nn.functional import cross_entropy

import bedside

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True):
    for step in range(400):
        if step == 120:
            optimizer.param_groups[0]["lr"] = 1e6
        x = torch.randn(64, 20)
        loss = cross_entropy(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.04)
