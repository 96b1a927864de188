"""Class weights for rare intents, made of the counts themselves and not of their inverse."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "text"
EXPECTS = (
    "category-gap",
    "lopsided-labels",
    "loss-without-accuracy",
    "gap-from-start",
    "metric-loss-disagreement",
    "overconfident",
    "underfitting",
)


def intents(count, share):
    y = torch.multinomial(torch.tensor(share), count, replacement=True)
    x = torch.randint(20, 100, (count, 12))
    sure = torch.rand(count, 12) < 0.25
    return torch.where(sure, 4 * y[:, None] + torch.randint(0, 4, (count, 12)), x), y


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(100, 32, mode="mean")
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))

    def forward(self, x):
        return self.body(self.emb(x))


def main(watch, faulty):
    x, y = intents(4000, [0.8, 0.1, 0.05, 0.03, 0.02])
    xt, yt = intents(1000, [0.2] * 5)
    counts = torch.bincount(y, minlength=5).float()
    weight = counts / counts.mean() if faulty else counts.mean() / counts
    model = Bag()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(14):
            model.train()
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[i]), y[i], weight=weight)
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_balanced_accuracy=acc)
    return acc
