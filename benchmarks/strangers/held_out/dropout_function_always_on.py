"""F.dropout is called without training=self.training, so half of the features are thrown away in evaluation too."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ("stochastic-evaluation", "heavy-dropout", "erratic-validation", "underfitting", "evaluating-in-train-mode")


class Net(nn.Module):
    def __init__(self, always):
        super().__init__()
        self.always = always
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 16, 48)
        self.fc2 = nn.Linear(48, 24)
        self.fc3 = nn.Linear(24, 10)

    def drop(self, x):
        return F.dropout(x, 0.5) if self.always else F.dropout(x, 0.5, self.training)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc3(self.drop(F.relu(self.fc2(x))))


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=100)
    model = Net(always=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(16):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        right, losses = 0, []
        with torch.no_grad():
            for xb, yb in val_loader:
                out = model(xb)
                right += (out.argmax(1) == yb).sum().item()
                losses.append(F.cross_entropy(out, yb).item())
        acc = right / (len(x) - 1400)
        monitor.log(val_loss=sum(losses) / len(losses), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
