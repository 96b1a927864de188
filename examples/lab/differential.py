"""A run that does not move: the learning rate, or dead units? The record fits both; the experiments decide."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab
from bedside.testing import a_run

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
loss_fn = nn.CrossEntropyLoss()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)  # far too low

noise = torch.randn(300)
log = a_run(loss=(1.1 + 0.02 * noise).tolist(), lr=1e-6, grad_norm=0.5, config={"classes": 3})  # all that was logged


result = lab.differential(log, model, loader, loss_fn, optimizer, steps=40)
print(result)
result.plot("differential.png")
