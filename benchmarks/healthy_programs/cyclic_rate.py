"""Cyclical learning rates, triangular, stepped per batch; digits with a small conv net."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return F.log_softmax(self.fc(self.drop(F.max_pool2d(x, 2).flatten(1))), dim=1)


def main(watch):
    X, y = load_digits(return_X_y=True)
    ds = TensorDataset(torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y))
    train_ds, test_ds = random_split(ds, [1500, 297])
    train_loader = DataLoader(train_ds, 32, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_ds, 100)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.005, max_lr=0.08, step_size_up=92)
    monitor = watch(model, optimizer)
    for _epoch in range(1, 9):
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        test_loss = correct = 0
        with torch.no_grad():
            for data, target in test_loader:
                output = model(data)
                test_loss += F.nll_loss(output, target, reduction="sum").item()
                correct += output.argmax(1).eq(target).sum().item()
        monitor.log(test_loss=test_loss / 297, test_accuracy=correct / 297)
    monitor.close()
    assert correct / 297 > 0.92
