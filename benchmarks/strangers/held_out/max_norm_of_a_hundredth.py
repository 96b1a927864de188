"""The embedding is declared with max_norm=0.01: whatever is learned is cut back to nothing at the next look-up."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "embedding options"
EXPECTS = (
    "stalled-loss",
    "underfitting",
    "unmoved-parameter",
    "collapsed-activations",
    "stuck-from-start",
    "undersized-update",
)


class ConvTagger(nn.Module):
    def __init__(self, max_norm, words=60, dim=32, tags=6):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0, max_norm=max_norm)
        self.conv = nn.Conv1d(dim, 96, 3, padding=1)
        self.out = nn.Conv1d(96, tags, 1)

    def forward(self, ids):
        return self.out(torch.relu(self.conv(self.embed(ids).transpose(1, 2)))).transpose(1, 2)


def main(watch, faulty):
    x, y, _ = tagged(2000)
    xv, yv, _ = tagged(300)
    model = ConvTagger(max_norm=0.01 if faulty else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=9, gamma=0.2)
    known = yv != -100
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for rows in torch.randperm(len(x)).split(32):
                out = model(x[rows])
                loss = F.cross_entropy(out.reshape(-1, 6), y[rows].reshape(-1), ignore_index=-100)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            with torch.no_grad():
                out = model(xv)[known]
            acc = (out.argmax(-1) == yv[known]).float().mean().item()
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, yv[known]).item(), val_acc=acc)
    return acc
