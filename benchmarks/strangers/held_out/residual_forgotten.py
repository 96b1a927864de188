"""Eight transformer blocks without a way around them: x = f(x) where x = x + f(x) belongs."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy
from strangers.sequences import reviews

FAMILY = "transformer"
EXPECTS = (
    "collapsed-activations",
    "vanishing-gradient",
    "loss-at-chance",
    "stuck-from-start",
    "underfitting",
    "stalled-loss",
    "faded-gradient",
)


class Block(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.n1, self.n2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        h = self.n1(x)
        a = self.attn(h, h, h, need_weights=False)[0]
        x = a if self.faulty else x + a
        m = self.mlp(self.n2(x))
        return m if self.faulty else x + m


class Encoder(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.emb, self.pos = nn.Embedding(200, 32), nn.Parameter(0.02 * torch.randn(24, 32))
        self.blocks = nn.Sequential(*[Block(faulty) for _ in range(8)])
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.blocks(self.emb(x) + self.pos).mean(1))


def main(watch, faulty):
    (x, y, _), (xt, yt, _) = reviews(1200, 24), reviews(400, 24)
    model = Encoder(faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(8):
            for i in torch.randperm(len(x)).split(40):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
