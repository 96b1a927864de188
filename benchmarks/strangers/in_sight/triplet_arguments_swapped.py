"""Triplet loss called as (anchor, negative, positive): what belongs together is pushed apart."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "contrastive"
EXPECTS = ("worsening-metric", "metric-loss-disagreement", "loss-without-accuracy", "stalled-loss")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, 16),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.TripletMarginLoss(margin=0.5)
    members = [(y == c).nonzero().squeeze(1) for c in range(10)]

    def pick(labels):
        return torch.stack([members[c][torch.randint(0, len(members[c]), ())] for c in labels])

    with watch(net, opt) as monitor:
        for step in range(400):
            i = torch.randint(0, len(x), (48,))
            other = (y[i] + torch.randint(1, 10, (48,))) % 10
            positive, negative = x[pick(y[i])], x[pick(other)]
            a, p, n = net(x[i]), net(positive), net(negative)
            loss = criterion(a, n, p) if faulty else criterion(a, p, n)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 20 == 19:
                with torch.no_grad():
                    near = torch.cdist(net(xt), net(x)).topk(5, largest=False).indices
                    precision = (y[near] == yt[:, None]).float().mean().item()
                monitor.log(precision_at_5=precision)
    return precision
