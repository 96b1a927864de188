"""model.half() and Adam as it is: in float16 squared gradients and epsilon are zero, and the division is by nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import reviews

FAMILY = "precision"
EXPECTS = (
    "underflowing-second-moment",
    "nonfinite-weights",
    "nonfinite-loss",
    "nonfinite-activation",
    "nonfinite-gradient",
)


class Texts(nn.Module):
    def __init__(self, words=200, width=48):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.head(self.embedding(x).sum(1) / (x > 0).sum(1, keepdim=True))


def main(watch, faulty):
    x, y, _ = reviews(2000)
    xt, yt, _ = reviews(500)
    model = Texts()
    if faulty:
        model = model.half()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            model.train()
            for idx in torch.randperm(2000).split(40):
                loss = F.cross_entropy(model(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(xt).float()
            acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
