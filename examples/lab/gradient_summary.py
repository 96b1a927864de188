"""Seven sigmoid layers: how much of the gradient reaches the first one?"""

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

result = lab.gradient_summary(model, loader, loss_fn)
print(result)
result.plot("gradient_summary.png")
