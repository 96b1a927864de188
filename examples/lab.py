"""Four experiments of the lab on a small classifier; each puts everything back."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1.0)  # far too high
loss_fn = nn.CrossEntropyLoss()

print(lab.lr_range(model, loader, loss_fn, optimizer, fork_steps=60))
print(lab.overfit_batch(model, loader, loss_fn))
print(lab.trial(model, loader, loss_fn, optimizer, steps=40, repeats=3))
print(lab.nan_hunt(model, loader, loss_fn, optimizer, steps=5))
