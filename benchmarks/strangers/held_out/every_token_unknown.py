"""The tokenizer lower-cases the text, the vocabulary was built in upper case: every token is <unk>."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "language"
EXPECTS = (
    "constant-input",
    "loss-at-chance",
    "stuck-from-start",
    "collapsed-activations",
    "silent-parameter",
    "underfitting",
)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.body = nn.EmbeddingBag(200, 24), nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.body(self.embed(x))


def main(watch, faulty):
    mood = torch.randn(200)
    x = torch.randint(1, 200, (3000, 15))
    y = (mood[x].sum(1) > 0).long()
    x = torch.zeros_like(x) if faulty else x
    model = Bag()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, optimizer)
    for _ in range(8):
        for i in torch.randperm(2500).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[i]), y[i])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(x[2500:])
        acc = (out.argmax(1) == y[2500:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[2500:]).item(), val_acc=acc)
    monitor.close()
    return acc
