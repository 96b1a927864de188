"""Biases that start far below zero leave units that never fire."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
loss_fn = nn.CrossEntropyLoss()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
with torch.no_grad():
    model[0].bias[:12] = -20.0

result = lab.dead_units(model, loader)
print(result)
result.plot("dead_units.png")
