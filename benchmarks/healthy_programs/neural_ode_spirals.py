"""Two spirals told apart by a vector field that is followed for twenty small steps with the same weights."""

import torch
import torch.nn.functional as F
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(2, 8)
        self.flow = nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 8))
        self.read = nn.Linear(8, 1)

    def forward(self, x):
        h = self.lift(x)
        for step in range(20):
            t = torch.full((len(h), 1), step / 20)
            h = h + self.flow(torch.cat([h, t], 1)) / 20
        return self.read(h).squeeze(1)


def spirals(n):
    label = torch.randint(0, 2, (n,))
    r = torch.rand(n).sqrt() * 2
    angle = r * 2.5 + label * torch.pi
    return torch.stack([r * angle.cos(), r * angle.sin()], 1) + 0.05 * torch.randn(n, 2), label.float()


def main(watch):
    (x, y), (xt, yt) = spirals(1500), spirals(500)
    model = Field()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    with watch(model, opt) as monitor:
        for _ in range(25):
            for i in torch.randperm(len(x)).split(100):
                loss = F.binary_cross_entropy_with_logits(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt)
            acc = ((out > 0) == yt.bool()).float().mean().item()
            monitor.log(val_loss=F.binary_cross_entropy_with_logits(out, yt).item(), val_acc=acc)
    assert acc > 0.9
