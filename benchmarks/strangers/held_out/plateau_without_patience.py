"""ReduceLROnPlateau with patience 0 and a small validation set: every unlucky epoch divides the rate by ten."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import series

FAMILY = "schedule"
EXPECTS = ("vanished-learning-rate", "schedule-ended-early", "stalled-loss", "underfitting", "undersized-update")


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.gru(x.unsqueeze(-1))[0][:, -1]).squeeze(-1)


def windows(values, at, length=24):
    return torch.stack([values[i : i + length] for i in at]), torch.stack([values[i + length] for i in at])


def main(watch, faulty):
    values = series(3000)
    values = (values - values[:2400].mean()) / values[:2400].std()
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.1 if faulty else 0.5, patience=0 if faulty else 8
    )
    with watch(model, optimizer) as monitor:
        for _ in range(30):
            model.train()
            for _ in range(20):
                x, y = windows(values, torch.randint(0, 2350, (32,)))
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                x, y = windows(values, torch.randint(2400, 2970, (16,)))
                val_loss = F.mse_loss(model(x), y).item()
            scheduler.step(val_loss)
            monitor.log(val_loss=val_loss, lr=optimizer.param_groups[0]["lr"])
    with torch.no_grad():
        x, y = windows(values, torch.arange(2400, 2970))
        return 1 - (F.mse_loss(model(x), y) / y.var()).item()
