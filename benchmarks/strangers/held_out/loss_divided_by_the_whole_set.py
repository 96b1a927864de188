"""The summed loss of a batch is divided by the size of the data set instead of the size of the batch."""

import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FAMILY = "loss reduction"
EXPECTS = ("undersized-update", "stuck-from-start", "stalled-loss", "still-falling", "underfitting")


def make_sets():
    x, y = make_classification(6400, 24, n_informative=12, n_redundant=4, n_classes=5, class_sep=1.6, random_state=3)
    x = torch.tensor(x, dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    return random_split(TensorDataset(x, torch.tensor(y)), [5400, 1000], torch.Generator().manual_seed(1))


class Trainer:
    def __init__(self, model, train_set, val_set, per_batch):
        self.model = model
        self.train_set, self.val_set = train_set, val_set
        self.loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
        self.criterion = nn.CrossEntropyLoss(reduction="sum")
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 12)
        self.per_batch = per_batch

    def run(self, monitor, epochs=12):
        for epoch in range(epochs):
            self.model.train()
            for x, y in self.loader:
                loss = self.criterion(self.model(x), y)
                loss = loss / (len(x) if self.per_batch else len(self.train_set))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
            self.scheduler.step()
            val_loss, val_acc = self.evaluate()
            monitor.log(epoch=epoch, val_loss=val_loss, val_accuracy=val_acc)
        return val_acc

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss, hits = 0.0, 0
        for x, y in DataLoader(self.val_set, batch_size=500):
            out = self.model(x)
            loss += self.criterion(out, y).item()
            hits += (out.argmax(-1) == y).sum().item()
        return loss / len(self.val_set), hits / len(self.val_set)


def main(watch, faulty):
    train_set, val_set = make_sets()
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    trainer = Trainer(model, train_set, val_set, per_batch=not faulty)
    with watch(model, trainer.optimizer) as monitor:
        return trainer.run(monitor)
