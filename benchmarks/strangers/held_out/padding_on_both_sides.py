"""A temporal convolution network pads on both sides, so that while training each step sees the values it should
predict."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import series

FAMILY = "temporal convolution"
EXPECTS = ("leaked-answer", "gap-from-start", "suspiciously-perfect", "nothing-generalises", "overfitting")

WINDOW = 48


class TemporalBlock(nn.Module):
    def __init__(self, c_in, c_out, dilation, causal, k=3):
        super().__init__()
        total = (k - 1) * dilation
        self.pad = (total, 0) if causal else (total // 2, total - total // 2)
        self.conv = nn.Conv1d(c_in, c_out, k, dilation=dilation)
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv(F.pad(x, self.pad))) + self.skip(x)


class TCN(nn.Module):
    def __init__(self, causal, width=24):
        super().__init__()
        self.blocks = nn.Sequential(
            TemporalBlock(1, width, 1, causal),
            TemporalBlock(width, width, 2, causal),
            TemporalBlock(width, width, 4, causal),
            TemporalBlock(width, width, 8, causal),
        )
        self.out = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        return self.out(self.blocks(x[:, None]))[:, 0]


def main(watch, faulty):
    load = series(4000)
    load = (load - load[:3000].mean()) / load[:3000].std()
    cut = load.unfold(0, WINDOW + 1, 1)
    train, val, test = cut[: 3000 - WINDOW], cut[3000:3450], cut[3500:]
    model = TCN(causal=not faulty)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = 8
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * 47)

    def forecast_error(rows):
        model.eval()
        with torch.no_grad():
            error = F.mse_loss(model(rows[:, :-1])[:, -1], rows[:, -1]).item()
        model.train()
        return error

    with watch(model, opt) as monitor:
        for epoch in range(epochs):
            for idx in torch.randperm(len(train))[: 47 * 62].split(62):
                rows = train[idx]
                opt.zero_grad()
                F.mse_loss(model(rows[:, :-1])[:, 12:], rows[:, 13:]).backward()
                opt.step()
                if sched.last_epoch < sched.T_max:
                    sched.step()
            monitor.log(epoch=epoch, val_loss=forecast_error(val))
    return 1 - forecast_error(test)
