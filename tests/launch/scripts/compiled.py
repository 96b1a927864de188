"""A compiled model, as most new code has it."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
raw = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 3))
model = torch.compile(raw, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
w = torch.randn(12, 3)
for step in range(150):
    x = torch.randn(64, 12)
    y = (x @ w + 0.3 * torch.randn(64, 3)).argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
torch.save(raw.state_dict(), sys.argv[1])
