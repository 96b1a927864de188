"""The gradient of every layer over sixty steps of training."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
loss_fn = nn.CrossEntropyLoss()
layers = [layer for _ in range(6) for layer in (nn.Linear(16, 16), nn.Sigmoid())]  # sigmoids starve early layers
model = nn.Sequential(nn.Linear(8, 16), *layers, nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

result = lab.gradient_flow(model, loader, loss_fn, optimizer, steps=60)
print(result)
result.plot("gradient_flow.png")
