"""The kuangliu CIFAR loop: a small ResNet, SGD with momentum, cosine per epoch, accuracy in per cent."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + self.shortcut(x))


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = (torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) - 5) / 6, torch.tensor(y)
    net = nn.Sequential(
        BasicBlock(1, 8), BasicBlock(8, 16, 2), BasicBlock(16, 32, 2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(32, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    criterion = nn.CrossEntropyLoss()
    monitor = watch(net, optimizer)

    def train():
        net.train()
        for idx in torch.randperm(1400).split(128):
            optimizer.zero_grad()
            loss = criterion(net(X[idx]), y[idx])
            loss.backward()
            optimizer.step()

    def test():
        net.eval()
        with torch.no_grad():
            outputs = net(X[1400:])
        acc = 100.0 * outputs.argmax(1).eq(y[1400:]).sum().item() / 397
        monitor.log({"test_loss": criterion(outputs, y[1400:]).item(), "test_acc": acc})
        return acc

    for _epoch in range(10):
        train()
        acc = test()
        scheduler.step()
    monitor.close()
    assert acc > 88
