"""The whole model is cast to bfloat16 and trained with small steps: most updates are rounded away."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "precision"
EXPECTS = ("swallowed-updates", "unmoved-parameter", "undersized-update")


def main(watch, faulty):
    x, y, xt, yt = digits()
    kind = torch.bfloat16 if faulty else torch.float32
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(kind)
    x, xt = x.to(kind), xt.to(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.0)
    with watch(model, optimizer) as monitor:
        for _ in range(30):
            for i in torch.randperm(len(x)).split(16):
                loss = F.cross_entropy(model(x[i]).float(), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xt).float()
            val = F.cross_entropy(out, yt).item()
            monitor.log(val_loss=val, val_acc=(out.argmax(1) == yt).float().mean().item())
    return -val
