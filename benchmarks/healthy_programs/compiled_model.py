"""torch.compile on a small net (the eager backend, which needs no compiler), watched before it is compiled."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.AdamW(compiled.parameters(), lr=2e-3)
    monitor = watch(compiled, optimizer)
    for step in range(400):
        i = torch.randint(0, 1400, (64,))
        loss = F.cross_entropy(compiled(X[i]), y[i])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 50 == 49:
            with torch.no_grad():
                out = compiled(X[1397:])
            acc = (out.argmax(1) == y[1397:]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, y[1397:]).item(), val_accuracy=acc)
    monitor.close()
    assert acc > 0.85
