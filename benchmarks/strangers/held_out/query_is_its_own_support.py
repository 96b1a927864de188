"""One-shot learning by prototypes: a slice that starts at zero for both makes every query its own support picture;
the answer is in the question."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from strangers.common import digits

FAMILY = "meta-learning"
EXPECTS = ("leaked-answer", "identical-views", "suspiciously-perfect", "gap-from-start", "nothing-generalises")


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(24 * 16, 32),
        )

    def forward(self, x):
        return self.net(x)


def episode(pool, way, shots, queries, start):
    classes = torch.randperm(len(pool))[:way]
    support, query = [], []
    for c in classes.tolist():
        picked = pool[c][torch.randperm(len(pool[c]))]
        support.append(picked[:shots])
        query.append(picked[start : start + queries])
    return torch.stack(support), torch.stack(query)


def proto_loss(net, support, query):
    way, shots, queries = support.size(0), support.size(1), query.size(1)
    z = net(torch.cat([support.flatten(0, 1), query.flatten(0, 1)]))
    proto = z[: way * shots].view(way, shots, -1).mean(1)
    logits = -torch.cdist(z[way * shots :], proto).pow(2) / z.size(1)
    target = torch.arange(way).repeat_interleave(queries)
    return F.cross_entropy(logits, target), (logits.argmax(1) == target).float().mean()


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = (x - 0.305) / 0.376, (xt - 0.305) / 0.376
    train = [x[y == c] for c in range(10)]
    test = [xt[yt == c] for c in range(10)]
    net = Embedding()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 160, 0.4)
    with watch(net, optimizer) as monitor:
        for it in range(1, 481):
            net.train()
            parts = [proto_loss(net, *episode(train, 8, 1, 1, start=0 if faulty else 1)) for _ in range(3)]
            loss = sum(p[0] for p in parts) / len(parts)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if it % 60 == 0:
                net.eval()
                with torch.no_grad():
                    trials = [proto_loss(net, *episode(test, 8, 1, 5, start=1)) for _ in range(15)]
                val_loss = sum(t[0].item() for t in trials) / len(trials)
                val_acc = sum(t[1].item() for t in trials) / len(trials)
                monitor.log(episode=it, val_loss=val_loss, val_acc=val_acc)
    return val_acc
