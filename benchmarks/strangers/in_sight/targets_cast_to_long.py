"""Fill levels between 0 and 1 are cast to long with the other labels: all of the training targets become zero."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "dtype slip"
EXPECTS = (
    "gap-from-start",
    "nothing-generalises",
    "misread-validation",
    "suspiciously-perfect",
    "collapsed-activations",
)


class Tanks(Dataset):
    """Eight echo measurements of a tank and how full it is."""

    def __init__(self, n, label_type):
        level = torch.rand(n)
        shape = torch.rand(n, 1) * 2 + 1
        phase = torch.linspace(0, 1.5, 8)
        self.x = torch.sin(shape * phase + 3 * level[:, None]) + 0.05 * torch.randn(n, 8)
        self.y = level.to(label_type)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Trainer:
    def __init__(self, model, optimizer, monitor):
        self.model, self.optimizer, self.monitor = model, optimizer, monitor
        self.loss = nn.MSELoss()

    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            self.optimizer.zero_grad()
            self.loss(self.model(x).squeeze(1), y.float()).backward()
            self.optimizer.step()

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        errors = [((self.model(x).squeeze(1) - y) ** 2) for x, y in loader]
        return torch.cat(errors).mean().item()


def main(watch, faulty):
    train = DataLoader(Tanks(1600, torch.long if faulty else torch.float32), batch_size=32, shuffle=True)
    val = DataLoader(Tanks(400, torch.float32), batch_size=200)
    model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    monitor = watch(model, optimizer)
    trainer = Trainer(model, optimizer, monitor)
    for epoch in range(20):
        trainer.train_epoch(train)
        scheduler.step()
        val_loss = trainer.evaluate(val)
        monitor.log(epoch=epoch, val_loss=val_loss)
    monitor.close()
    return 1 - val_loss * 12
