"""Attentive feature masks step after step on a table (TabNet-like): sparsity term, AdamW, step decay."""

import torch
import torch.nn.functional as F
from torch import nn


class TabNet(nn.Module):
    def __init__(self, inputs, classes, steps=3, width=24):
        super().__init__()
        self.norm = nn.BatchNorm1d(inputs)
        self.attend = nn.ModuleList([nn.Linear(width, inputs, bias=False) for _ in range(steps)])
        self.attend_norm = nn.ModuleList([nn.BatchNorm1d(inputs) for _ in range(steps)])
        self.transform = nn.ModuleList([nn.Linear(inputs, 2 * width) for _ in range(steps + 1)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.norm(x)
        prior, state, total, sparsity = torch.ones_like(x), F.glu(self.transform[0](x)), 0, 0
        for attend, norm, transform in zip(self.attend, self.attend_norm, self.transform[1:], strict=True):
            mask = (norm(attend(state)) * prior).softmax(1)
            prior = prior * (1.5 - mask)
            sparsity = sparsity - (mask * (mask + 1e-10).log()).sum(1).mean()
            state = F.glu(transform(mask * x * x.shape[1] / 4))
            total = total + state.relu()
        return self.head(total), sparsity / len(self.attend)


def main(watch):
    X = torch.randn(2500, 20) * torch.logspace(-1, 1, 20)
    y = ((X[:, 3] / X[:, 3].std() + (X[:, 11] > 0).float() * X[:, 7] / X[:, 7].std()) > 0).long()
    model = TabNet(20, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.9)
    monitor = watch(model, optimizer)
    for epoch in range(30):
        model.train()
        for i in torch.randperm(2000).split(128):
            logits, sparsity = model(X[i])
            loss = F.cross_entropy(logits, y[i]) + 1e-3 * sparsity
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            logits, _ = model(X[2000:])
            accuracy = (logits.argmax(1) == y[2000:]).float().mean().item()
        monitor.log(valid_logloss=F.cross_entropy(logits, y[2000:]).item(), valid_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
