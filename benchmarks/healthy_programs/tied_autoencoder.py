"""Decoder weights are the encoder's, transposed; sigmoid code, and corrupted input as in 2010."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits


class Tied(nn.Module):
    def __init__(self, d=64, h=40):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(h, d))
        nn.init.xavier_uniform_(self.weight)
        self.up, self.down = nn.Parameter(torch.zeros(h)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        code = torch.sigmoid(F.linear(x, self.weight, self.up))
        return F.linear(code, self.weight.t(), self.down)


def main(watch):
    x, _, xv, _ = digits()
    model = Tied()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 40], gamma=0.3)
    criterion = nn.BCEWithLogitsLoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(45):
            model.train()
            for rows in torch.randperm(len(x)).split(50):
                clean = x[rows]
                corrupted = clean * (torch.rand_like(clean) > 0.25)
                optimizer.zero_grad()
                criterion(model(corrupted), clean).backward()
                optimizer.step()
            schedule.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
            monitor.log(epoch=epoch, val_loss=criterion(out, xv).item())
    error = (out.sigmoid() - xv).pow(2).mean() / (xv - x.mean(0)).pow(2).mean()
    assert error < 0.5, error
