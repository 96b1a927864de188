"""Shops are encoded by the mean target of their rows in the training set, the row itself among them; most shops have
one row or two, so that the column is next to the answer. New rows get the mean of the others."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = ("leaked-answer", "gap-from-start", "overfitting", "nothing-generalises", "suspiciously-perfect")

SHOPS = 2500


def sales(count, taste):
    shop = torch.randint(0, SHOPS, (count,))
    x = torch.randn(count, 6)
    y = x[:, 0] * x[:, 1] + x[:, 2].abs() + 0.3 * taste[shop] + 0.3 * torch.randn(count)
    return shop, x, y


def mean_of_shop(shop, y):
    total = torch.zeros(SHOPS).index_add_(0, shop, y)
    count = torch.zeros(SHOPS).index_add_(0, shop, torch.ones_like(y))
    return total, count


def encode(shop, y, leave_one_out, prior):
    total, count = mean_of_shop(shop, y)
    if leave_one_out:
        return (total[shop] - y + 5 * prior) / (count[shop] - 1 + 5)
    return total[shop] / count[shop]


def main(watch, faulty):
    taste = torch.randn(SHOPS)
    shop, x, y = sales(2600, taste)
    prior = y.mean()
    total, count = mean_of_shop(shop, y)
    table = (total + 5 * prior) / (count + 5)
    if faulty:
        table = torch.where(count > 0, total / count.clamp_min(1), prior)
    code = encode(shop, y, leave_one_out=not faulty, prior=prior)

    def validation(rows):
        shop, x, y = sales(rows, taste)
        return torch.cat([table[shop][:, None], x], 1), y

    inputs = torch.cat([code[:, None], x], 1)
    x_val, y_val = validation(600)
    model = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(15):
            model.train()
            for rows in torch.randperm(len(inputs)).split(64):
                optimizer.zero_grad()
                loss = F.mse_loss(model(inputs[rows]).squeeze(1), y[rows])
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                error = model(x_val).squeeze(1) - y_val
            monitor.log(val_mse=error.pow(2).mean().item(), val_mae=error.abs().mean().item())
    x_test, y_test = validation(4000)
    with torch.no_grad():
        return 1 - (F.mse_loss(model(x_test).squeeze(1), y_test) / y_test.var()).item()
