"""CLIP's loss with the wrong labels: matching pairs stand on the diagonal, so the labels are arange(batch); here they
are zeros, and every sample is pulled to the first one of its batch."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "contrastive"
EXPECTS = ("loss-at-chance", "stuck-from-start", "stalled-loss", "collapsed-activations", "mixed-samples")


class Tower(nn.Module):
    def __init__(self, n_in, dim=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 96), nn.LayerNorm(96), nn.ReLU(), nn.Linear(96, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class MiniCLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture, self.caption = Tower(40), Tower(30)
        self.logit_scale = nn.Parameter(torch.tensor(2.3))

    def forward(self, a, b):
        return self.logit_scale.exp().clamp(max=50) * self.picture(a) @ self.caption(b).T


def pairs(n):
    """Features of pictures and of their captions: two noisy looks at the same thing."""
    g = torch.Generator().manual_seed(3)
    w1, w2 = torch.randn(8, 40, generator=g) / 2, torch.randn(8, 30, generator=g) / 2
    z = torch.randn(n, 8)
    return torch.tanh(z @ w1) + 0.3 * torch.randn(n, 40), torch.tanh(z @ w2) + 0.3 * torch.randn(n, 30)


def clip_loss(logits, faulty):
    labels = torch.zeros(len(logits), dtype=torch.long) if faulty else torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def main(watch, faulty):
    a, b = pairs(8000)
    av, bv = pairs(640)
    model = MiniCLIP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    epochs, batch = 8, 64
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, total_steps=epochs * len(a) // batch, pct_start=0.1
    )
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for idx in torch.randperm(len(a)).split(batch):
                loss = clip_loss(model(a[idx], b[idx]), faulty)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                scheduler.step()
            model.eval()
            with torch.no_grad():
                found, val_loss = 0.0, 0.0
                for i in range(0, 640, 64):
                    logits = model(av[i : i + 64], bv[i : i + 64])
                    val_loss += clip_loss(logits, faulty).item() / 10
                    found += (logits.argmax(1) == torch.arange(64)).float().mean().item() / 10
            monitor.log(epoch=epoch, val_loss=val_loss, val_recall_at_1=found)
    return found
