"""nn.MultiheadAttention without batch_first=True on (batch, time, channels): it attends across the batch."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("mixed-samples", "loss-at-chance", "stuck-from-start", "underfitting", "gap-from-start")


class Model(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.embed, self.pos = nn.Embedding(16, 32), nn.Parameter(torch.randn(1, 10, 32) * 0.1)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=not faulty)
        self.norm, self.ff = nn.LayerNorm(32), nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        h = self.embed(x) + self.pos
        h = self.norm(h + self.attn(h, h, h, need_weights=False)[0])
        return self.ff(h.max(1).values)


def make(n):
    x = torch.randint(0, 16, (n, 10))
    return x, ((x == x[:, :1]).sum(1) > 1).long()


def main(watch, faulty):
    model = Model(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    xv, yv = make(600)
    with watch(model, optimizer) as monitor:
        for step in range(900):
            x, y = make(64)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 90 == 89:
                model.eval()
                with torch.no_grad():
                    out = torch.cat([model(part) for part in xv.split(60)])
                model.train()
                acc = (out.argmax(1) == yv).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
