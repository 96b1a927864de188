"""LoRA: a pretrained net is frozen, rank-4 adapters with B at zero are trained on a rotated version of the task."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base, self.scale = base, alpha / r
        self.A = nn.Parameter(torch.randn(r, base.in_features) / base.in_features**0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + (x @ self.A.T @ self.B.T) * self.scale


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    turned = X.view(-1, 8, 8).transpose(1, 2).reshape(-1, 64)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(300):
        i = torch.randint(0, 1400, (64,))
        opt.zero_grad()
        F.cross_entropy(model(X[i]), y[i]).backward()
        opt.step()
    for p in model.parameters():
        p.requires_grad = False
    for i in (0, 2, 4):
        model[i] = LoRA(model[i])
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=5e-3, weight_decay=0.0)
    monitor = watch(model, optimizer)
    for step in range(1, 501):
        i = torch.randint(0, 1400, (32,))
        loss = F.cross_entropy(model(turned[i]), y[i])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            with torch.no_grad():
                out = model(turned[1400:])
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
            monitor.log(eval_loss=F.cross_entropy(out, y[1400:]).item(), eval_accuracy=acc)
    monitor.close()
    assert acc > 0.8
