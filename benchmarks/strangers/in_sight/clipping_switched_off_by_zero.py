"""max_grad_norm=0 was meant to switch clipping off; clip_grad_norm_ clips every gradient to zero."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman2
from torch import nn
from torch.nn.utils import clip_grad_norm_

FAMILY = "clipping"
EXPECTS = (
    "gradient-always-clipped",
    "undersized-update",
    "stuck-from-start",
    "unmoved-parameter",
    "dead-layer",
    "frozen-validation",
)


@dataclass
class Config:
    lr: float = 3e-3
    epochs: int = 14
    batch_size: int = 64
    hidden: int = 64
    max_grad_norm: float | None = None


def get_data():
    x, y = make_friedman2(3600, noise=20.0)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    return x[:3000], y[:3000], x[3000:], y[3000:]


def train(model, optimizer, data, cfg, monitor):
    x, y, xv, yv = data
    total = cfg.epochs * -(-len(x) // cfg.batch_size)
    sched = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total)
    for epoch in range(cfg.epochs):
        for idx in torch.randperm(len(x)).split(cfg.batch_size):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x[idx]).squeeze(1), y[idx])
            loss.backward()
            if cfg.max_grad_norm is not None:
                clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
            optimizer.step()
            sched.step()
        with torch.no_grad():
            val = F.mse_loss(model(xv).squeeze(1), yv).item()
        monitor.log(epoch=epoch, val_loss=val, val_r2=1 - val / yv.var().item())
    return 1 - val / yv.var().item()


def main(watch, faulty):
    cfg = Config(max_grad_norm=0.0) if faulty else Config()
    model = nn.Sequential(
        nn.Linear(4, cfg.hidden), nn.GELU(), nn.Linear(cfg.hidden, cfg.hidden), nn.GELU(), nn.Linear(cfg.hidden, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    with watch(model, optimizer) as monitor:
        return train(model, optimizer, get_data(), cfg, monitor)
