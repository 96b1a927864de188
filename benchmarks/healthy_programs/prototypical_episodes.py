"""Few-shot learning in episodes: other digits every time, so that the labels mean something else at every step."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
    members = [(y == c).nonzero().squeeze(1) for c in range(10)]
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 24))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)

    def episode(classes, ways=3, shots=3, queries=8):
        chosen = torch.tensor(classes)[torch.randperm(len(classes))[:ways]]
        picks = [members[c][torch.randperm(len(members[c]))[: shots + queries]] for c in chosen]
        support, query = torch.stack([p[:shots] for p in picks]), torch.stack([p[shots:] for p in picks])
        centres = net(x[support.flatten()]).view(ways, shots, -1).mean(1)
        scores = -(torch.cdist(net(x[query.flatten()]), centres) ** 2)
        return scores, torch.arange(ways).repeat_interleave(queries)

    with watch(net, opt) as monitor:
        for step in range(800):
            scores, labels = episode(range(7))
            loss = F.cross_entropy(scores, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                net.eval()
                with torch.no_grad():
                    outcomes = [episode((7, 8, 9)) for _ in range(20)]
                net.train()
                acc = sum((s.argmax(1) == t).float().mean().item() for s, t in outcomes) / 20
                monitor.log(novel_class_accuracy=acc)
    assert acc > 0.55
