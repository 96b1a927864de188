"""StepLR with a step of 2 epochs where the recipe, for a run of three hundred, has 30: after half the run the rate is a
millionth."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("vanished-learning-rate", "schedule-ended-early", "stalled-loss", "underfitting", "undersized-update")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
        self.fc = nn.Sequential(nn.Dropout(0.25), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=2 if faulty else 12, gamma=0.1)
    monitor = watch(model, optimizer)
    for _ in range(1, 21):
        model.train()
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            loss.backward()
            optimizer.step()
        test_loss, test_accuracy = accuracy(model, xt[:200], yt[:200])
        monitor.log(test_loss=test_loss, test_accuracy=test_accuracy)
        scheduler.step()
    monitor.close()
    return accuracy(model, xt[200:], yt[200:])[1]
