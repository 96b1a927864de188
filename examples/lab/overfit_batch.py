"""Can this model memorise 32 examples? A stray detach cuts its body off from the loss."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
loss_fn = nn.CrossEntropyLoss()


class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(32, 3)

    def forward(self, inputs):
        return self.head(self.body(inputs).detach())  # the detach is the bug


model = Forgetful()

result = lab.overfit_batch(model, loader, loss_fn, steps=200)
print(result)
result.plot("overfit_batch.png")
