"""A learning rate for a small classifier."""

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
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

result = lab.lr_range(model, loader, loss_fn, optimizer, fork_steps=60)
print(result)
result.plot("lr_range.png")
