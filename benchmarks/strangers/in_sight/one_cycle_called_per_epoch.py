"""OneCycleLR planned for every batch but stepped once an epoch: the run is over before its warm-up is."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FAMILY = "image"
EXPECTS = ("unfinished-schedule", "endless-warmup", "undersized-update", "vanished-learning-rate")


class Net(nn.Module):
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
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.features(x))


def main(watch, faulty):
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    full = TensorDataset(x - x.mean(), torch.tensor(data.target))
    train, val = random_split(full, [1437, 360])
    loader, val_loader = DataLoader(train, batch_size=48, shuffle=True), DataLoader(val, batch_size=360)
    epochs = 14
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.3, epochs=epochs, steps_per_epoch=len(loader), cycle_momentum=False
    )
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            if not faulty:
                scheduler.step()
        if faulty:
            scheduler.step()
        model.eval()
        with torch.no_grad():
            for images, labels in val_loader:
                out = model(images)
                acc = (out.argmax(1) == labels).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out, labels).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
