"""Healthy: a prognosis that mostly is chance; a small fall of the loss is all that there is, and the area under the
curve says that it was found."""

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ()


def main(watch):
    x = torch.randn(6000, 15)
    risk = 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.5 * x[:, 2] * x[:, 3] + 0.3 * x[:, 4].sin() - 0.6
    y = (torch.rand(6000) < torch.sigmoid(risk)).float()
    loader = DataLoader(TensorDataset(x[:5000], y[:5000]), batch_size=100, shuffle=True)
    model = nn.Sequential(nn.Linear(15, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x[5000:]).squeeze(1)
            auc = roc_auc_score(y[5000:].numpy(), out.numpy())
        monitor.log(val_loss=F.binary_cross_entropy_with_logits(out, y[5000:]).item(), val_auc=auc, epoch=epoch)
    monitor.close()
    assert auc > 0.66, auc
    return auc
