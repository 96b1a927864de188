"""The loss of the second task is added with .item(): its head never gets a gradient."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "multi-task"
EXPECTS = ("silent-parameter", "dead-layer", "stalled-loss", "unmoved-parameter", "loss-without-accuracy")


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.2))
        self.digit_head = nn.Linear(96, 10)
        self.ink_head = nn.Sequential(nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        z = self.shared(x)
        return self.digit_head(z), self.ink_head(z).squeeze(1)


def main(watch, faulty):
    x, y, xt, yt = digits()
    ink = x.mean(1)
    m, s = ink.mean(), ink.std()
    ink, ink_t = (ink - m) / s, (xt.mean(1) - m) / s
    x, xt = (x - x.mean()) / 0.376, (xt - 0.305) / 0.376
    loader = DataLoader(TensorDataset(x, y, ink), batch_size=32, shuffle=True)
    model = MultiTaskNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)
    ce, mse = nn.CrossEntropyLoss(), nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(16):
            model.train()
            for xb, yb, ib in loader:
                optimizer.zero_grad()
                digit, amount = model(xb)
                loss_digit, loss_ink = ce(digit, yb), mse(amount, ib)
                loss = loss_digit + 0.5 * (loss_ink.item() if faulty else loss_ink)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                digit, amount = model(xt)
                val_digit, val_ink = ce(digit, yt).item(), mse(amount, ink_t).item()
                acc = (digit.argmax(1) == yt).float().mean().item()
            scheduler.step(val_digit + 0.5 * val_ink)
            monitor.log(epoch=epoch, val_loss=val_digit + 0.5 * val_ink, val_acc=acc, val_ink_mse=val_ink)
    return acc - val_ink
