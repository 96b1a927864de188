"""The accuracy rounds the raw scores instead of the probabilities, so that it falls while the network gets surer."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "metric"
EXPECTS = (
    "misread-validation",
    "metric-loss-disagreement",
    "loss-without-accuracy",
    "worsening-metric",
    "worse-than-guess",
)


def binary_acc(y_pred, y_test, faulty):
    y_pred_tag = torch.round(y_pred) if faulty else torch.round(torch.sigmoid(y_pred))
    return (y_pred_tag == y_test).float().mean().item()


class BinaryClassification(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer_1 = nn.Linear(n, 64)
        self.layer_2 = nn.Linear(64, 32)
        self.layer_out = nn.Linear(32, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, inputs):
        x = self.relu(self.layer_1(inputs))
        x = self.relu(self.layer_2(x))
        return self.layer_out(self.dropout(x))


def main(watch, faulty):
    X, y = make_classification(5000, 20, n_informative=10, n_redundant=2, class_sep=1.2, flip_y=0.02, random_state=8)
    X = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    y = y.astype(np.float32)[:, None]
    train = TensorDataset(torch.from_numpy(X[:4000]), torch.from_numpy(y[:4000]))
    X_val, y_val = torch.from_numpy(X[4000:]), torch.from_numpy(y[4000:])
    model = BinaryClassification(20)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    loader = DataLoader(train, batch_size=64, shuffle=True)
    with watch(model, optimizer) as monitor:
        for e in range(12):
            model.train()
            for X_batch, y_batch in loader:
                optimizer.zero_grad()
                loss = criterion(model(X_batch), y_batch)
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                out = model(X_val)
            acc = binary_acc(out, y_val, faulty)
            monitor.log(epoch=e, val_loss=criterion(out, y_val).item(), val_acc=acc)
    return acc
