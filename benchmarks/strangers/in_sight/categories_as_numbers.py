"""The shop, the product and the weekday go into the network as the numbers of their codes instead of embeddings."""

import numpy as np
import torch
from torch import nn

FAMILY = "embeddings"
EXPECTS = ("unnormalised-input", "underfitting", "stalled-loss")

SIZES = (40, 60, 7)  # shops, products, weekdays


def sales(n):
    rng = np.random.default_rng(12)
    effect = [rng.normal(0, s, k) for s, k in zip((0.8, 0.8, 0.4), SIZES, strict=False)]
    codes = np.stack([np.random.randint(0, k, n) for k in SIZES], 1)
    price = np.random.randn(n)
    y = sum(e[c] for e, c in zip(effect, codes.T, strict=False)) - 0.6 * price + 0.25 * np.random.randn(n)
    return torch.from_numpy(codes), torch.tensor(price, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class SalesNet(nn.Module):
    def __init__(self, embed=True, d=8):
        super().__init__()
        self.embed = nn.ModuleList(nn.Embedding(k, d) for k in SIZES) if embed else None
        width = 1 + (d * 3 if embed else 3)
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, codes, price):
        parts = [codes.float()] if self.embed is None else [e(codes[:, i]) for i, e in enumerate(self.embed)]
        return self.net(torch.cat([*parts, price[:, None]], 1)).squeeze(1)


def main(watch, faulty):
    codes, price, y = sales(9000)
    cut = 8000
    model = SalesNet(embed=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    epochs, bs = 8, 64
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, epochs=epochs, steps_per_epoch=cut // bs)
    loss_fn = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            perm = torch.randperm(cut)
            for b in range(cut // bs):
                idx = perm[b * bs : (b + 1) * bs]
                loss = loss_fn(model(codes[idx], price[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sched.step()
            model.eval()
            with torch.no_grad():
                val = loss_fn(model(codes[cut:], price[cut:]), y[cut:]).item()
            monitor.log(epoch=epoch, val_loss=val, val_r2=1 - val / y[cut:].var().item())
    return 1 - val / y[cut:].var().item()
