"""The id of the padding word is given as ignore_index to a loss over tags, where the same number is a real tag."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "text"
EXPECTS = (
    "category-gap",
    "gap-from-start",
    "loss-without-accuracy",
    "overfitting",
    "overconfident",
    "metric-loss-disagreement",
    "nothing-generalises",
)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(60, 32), nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, 3)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def main(watch, faulty):
    x, y, _ = tagged(1600, tags=3)
    xt, yt, _ = tagged(400, tags=3)
    model = Tagger()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    pad_id = 0
    with watch(model, opt) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(40):
                out, want = model(x[i]).flatten(0, 1), y[i].flatten()
                if faulty:
                    loss = F.cross_entropy(out, want.clamp(min=pad_id), ignore_index=pad_id)
                else:
                    loss = F.cross_entropy(out, want)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(-1) == yt)[yt != -100].float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), yt.flatten()).item(), val_acc=acc)
    return acc
