"""The linear decay was computed for half as many epochs as are run: the rate goes through zero and becomes
negative, and the second half of the training climbs."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = (
    "schedule-ended-early",
    "diverging-loss",
    "lost-progress",
    "nonfinite-loss",
    "exploding-gradient",
    "runaway-weights",
)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = (x - 0.305) / 0.376, (xt - 0.305) / 0.376
    epochs, batch_size = 20, 50
    num_training_steps = len(x) // batch_size * (epochs // 2 if faulty else epochs)

    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / num_training_steps)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for idx in torch.randperm(len(x)).split(batch_size):
                loss = F.cross_entropy(model(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
            val_loss, val_acc = accuracy(model, xt, yt)
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc, lr=scheduler.get_last_lr()[0])
    return val_acc
