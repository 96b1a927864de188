"""A sensor was off while the training data were taken. Columns are divided by their spread in the training data, which
is next to nothing for this one, and in the validation data the sensor is on."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("inputs-differ", "extreme-input", "gap-from-start", "nothing-generalises", "erratic-validation")


def engine(count, fourth_sensor):
    x = torch.randn(count, 8) * torch.tensor([1.0, 5, 20, 1, 0.1, 3, 50, 2]) + 10
    x[:, 3] = 4 + torch.randn(count) if fourth_sensor else 4 + 1e-4 * torch.randn(count)
    z = (x - 10) / torch.tensor([1.0, 5, 20, 1, 0.1, 3, 50, 2])
    return x, z[:, 0] * z[:, 1] + z[:, 2].abs() + 0.5 * z[:, 5] + 0.1 * torch.randn(count)


class Standardizer:
    def __init__(self, floor):
        self.floor = floor

    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0)
        self.std[self.std < self.floor] = torch.inf  # a column that says nothing
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std


def main(watch, faulty):
    x, y = engine(3000, fourth_sensor=False)
    x_val, y_val = engine(600, fourth_sensor=True)
    scale = Standardizer(floor=1e-8 if faulty else 0.05).fit(x)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    mse = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                loss = mse(model(scale(x[idx])).flatten(), y[idx])
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                monitor.log(val_loss=mse(model(scale(x_val)).flatten(), y_val).item())
    x, y = engine(2000, fourth_sensor=True)
    with torch.no_grad():
        return 1 - (mse(model(scale(x)).flatten(), y) / y.var()).item()
