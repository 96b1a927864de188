"""Two phases: the head alone on frozen, pretrained features, then everything at a tenth of the rate."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def fit(watch, model, parameters, lr, X, y, epochs):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        model.train()
        for i in torch.randperm(len(X) - 300).split(50):
            loss = F.cross_entropy(model(X[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(X[-300:])
        accuracy = (out.argmax(1) == y[-300:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[-300:]).item(), val_accuracy=accuracy, epoch=epoch)
    monitor.close()
    return accuracy


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    old, new = y < 5, y >= 5
    backbone = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
    pretrained = nn.Sequential(backbone, nn.Linear(48, 5))
    fit(watch, pretrained, pretrained.parameters(), 2e-3, X[old], y[old], 8)
    model = nn.Sequential(backbone, nn.Linear(48, 5))
    for p in backbone.parameters():
        p.requires_grad = False
    before = fit(watch, model, [p for p in model.parameters() if p.requires_grad], 5e-3, X[new], y[new] - 5, 8)
    for p in backbone.parameters():
        p.requires_grad = True
    after = fit(watch, model, model.parameters(), 2e-3, X[new], y[new] - 5, 10)
    assert after > 0.8
    assert after >= before - 0.05
