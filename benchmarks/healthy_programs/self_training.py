"""FixMatch-like self-training: sixty labels, confident pseudo-labels for the rest, weak and strong noise."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    order = torch.randperm(1400)
    labelled = torch.cat([order[y[order] == c][:8] for c in range(10)])
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    monitor = watch(model, optimizer)
    for step in range(500):
        model.train()
        i, u = labelled[torch.randint(len(labelled), (32,))], order[torch.randint(1400, (96,))]
        weak, strong = X[u] + 0.02 * torch.randn(96, 64), X[u] * (torch.rand(96, 64) > 0.2) + 0.1 * torch.randn(96, 64)
        logits = model(torch.cat([X[i] + 0.02 * torch.randn(32, 64), weak, strong]))
        l_x, (l_weak, l_strong) = logits[:32], logits[32:].chunk(2)
        confidence, pseudo = l_weak.detach().softmax(1).max(1)
        mask = (confidence > 0.95).float()
        unsupervised = (F.cross_entropy(l_strong, pseudo, reduction="none") * mask).mean()
        loss = F.cross_entropy(l_x, y[i]) + unsupervised
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 24:
            model.eval()
            with torch.no_grad():
                out = model(X[1400:])
            accuracy = (out.argmax(1) == y[1400:]).float().mean().item()
            val_loss = F.cross_entropy(out, y[1400:]).item()
            monitor.log(val_loss=val_loss, val_accuracy=accuracy, mask_share=mask.mean().item())
    monitor.close()
    assert accuracy > 0.8
