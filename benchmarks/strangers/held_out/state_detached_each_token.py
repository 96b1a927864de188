"""A recurrent network unrolled by hand detaches its state at every token: nothing is ever learned to be remembered."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = (
    "loss-at-chance",
    "stuck-from-start",
    "stalled-loss",
    "underfitting",
    "nothing-generalises",
    "silent-parameter",
    "vanishing-gradient",
)


class Recall(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.emb, self.cell, self.head = nn.Embedding(12, 16), nn.GRUCell(16, 32), nn.Linear(32, 8)

    def forward(self, x):
        h = torch.zeros(len(x), 32)
        for token in self.emb(x).unbind(1):
            h = self.cell(token, h)
            if self.faulty:
                h = h.detach()
        return self.head(self.cell(torch.zeros(len(x), 16), h))


def samples(count):
    """The first token is asked for at the end."""
    x = torch.randint(8, 12, (count, 12))
    x[:, 0] = torch.randint(0, 8, (count,))
    return x, x[:, 0]


def main(watch, faulty):
    (x, y), (xt, yt) = samples(2000), samples(500)
    model = Recall(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    with watch(model, opt) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(40):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(-1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
