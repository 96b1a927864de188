"""A layer that keeps a counter of its own gives another result the second time."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
loss_fn = nn.CrossEntropyLoss()


class Counting(nn.Module):
    calls = 0

    def forward(self, inputs):
        Counting.calls += 1  # state outside the model: nothing can put it back
        return inputs * (1 + 1e-3 * Counting.calls)


model = nn.Sequential(nn.Linear(8, 32), Counting(), nn.Linear(32, 3))

result = lab.rerun(model, loader, loss_fn)
print(result)
