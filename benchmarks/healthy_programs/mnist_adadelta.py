"""The basic MNIST example as it is copied everywhere: two convolutions, dropout, Adadelta at 1.0, StepLR by 0.7."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, 1, padding=1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(512, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()


def test(model, loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            correct += (
                output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(dim=1, keepdim=True))).sum().item()
            )
    return test_loss / len(loader.dataset), correct / len(loader.dataset)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    train_loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(X[1400:], y[1400:]), batch_size=200)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.8)
    monitor = watch(model, optimizer)
    for epoch in range(1, 15):
        train(model, train_loader, optimizer)
        loss, accuracy = test(model, test_loader)
        monitor.log(test_loss=loss, test_accuracy=accuracy, epoch=epoch)
        scheduler.step()
    monitor.close()
    assert accuracy > 0.88
