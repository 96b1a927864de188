"""F.nll_loss is given the raw scores of the last layer: the log_softmax in forward() was forgotten."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "loss function"
EXPECTS = (
    "mismatched-loss",
    "unbounded-negative-loss",
    "runaway-weights",
    "growing-activations",
    "loss-without-accuracy",
)


class Net(nn.Module):
    def __init__(self, log_probs=True):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 2 * 2, 48)
        self.fc2 = nn.Linear(48, 10)
        self.drop = nn.Dropout(0.25)
        self.log_probs = log_probs

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop(F.relu(self.fc1(torch.flatten(x, 1))))
        x = self.fc2(x)
        return F.log_softmax(x, dim=1) if self.log_probs else x


def test(model, loader):
    model.eval()
    loss = correct = n = 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1).eq(target).sum().item()
            n += len(target)
    return loss / n, correct / n


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = (x - 0.305) / 0.376, (xt - 0.305) / 0.376
    train_loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(xt, yt), batch_size=256)
    model = Net(log_probs=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    with watch(model, optimizer) as monitor:
        for epoch in range(1, 17):
            model.train()
            for data, target in train_loader:
                optimizer.zero_grad()
                loss = F.nll_loss(model(data), target)
                loss.backward()
                optimizer.step()
            val_loss, val_acc = test(model, test_loader)
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
            scheduler.step()
    return val_acc
