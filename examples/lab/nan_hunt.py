"""A logarithm of zero, hidden in a custom loss: the hunt names the line."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(8, 3), nn.ReLU())


def loss_fn(output, target):
    share = output / output.sum(1, keepdim=True)  # 0 / 0 where every output is zero
    return -share.gather(1, target[:, None]).add(1e-6).log().mean()


result = lab.nan_hunt(model, loader, loss_fn, steps=3)
print(result)
