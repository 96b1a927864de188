"""Transfer: every key of the checkpoint begins with "module.", strict is off, and a random body is frozen."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "transfer"
EXPECTS = ("frozen-untrained", "underfitting", "stalled-loss", "silent-parameter")


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 12), nn.ReLU()
        )
        self.head = nn.Linear(12, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def main(watch, faulty):
    x, y, xt, yt = digits()
    source = Net(10)
    opt = torch.optim.Adam(source.parameters(), lr=2e-3)
    for _ in range(25):
        for i in torch.randperm(len(x)).split(64):
            opt.zero_grad()
            F.cross_entropy(source(x[i]), y[i]).backward()
            opt.step()
    checkpoint = {f"module.{name}": value for name, value in source.state_dict().items() if "head" not in name}
    if not faulty:
        checkpoint = {name.removeprefix("module."): value for name, value in checkpoint.items()}
    model = Net(5)  # the new task: which pair of digits
    model.load_state_dict(checkpoint, strict=False)
    for p in model.backbone.parameters():
        p.requires_grad = False
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    few = torch.arange(300)
    with watch(model, opt) as monitor:
        for _ in range(60):
            for i in few[torch.randperm(300)].split(32):
                loss = F.cross_entropy(model(x[i]), y[i] // 2)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                acc = (model(xt).argmax(1) == yt // 2).float().mean().item()
            monitor.log(val_acc=acc)
    return acc
