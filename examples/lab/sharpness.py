"""How sharp is the minimum after an epoch?"""

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
for inputs, labels in loader:  # one epoch
    optimizer.zero_grad()
    loss_fn(model(inputs), labels).backward()
    optimizer.step()

result = lab.sharpness(model, loader, loss_fn)
print(result)
result.plot("sharpness.png")
