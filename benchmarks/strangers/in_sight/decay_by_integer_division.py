"""The linear decay divides with //: the factor is one at the first step and zero at all the others."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import reviews

FAMILY = "schedule arithmetic"
EXPECTS = ("vanished-learning-rate", "schedule-ended-early", "stuck-from-start", "undersized-update", "loss-at-chance")


class TextCNN(nn.Module):
    def __init__(self, words=200, dim=24):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 24, k, padding=k // 2) for k in (3, 5))
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(48, 2)

    def forward(self, ids):
        e = self.embed(ids).transpose(1, 2)
        return self.out(self.drop(torch.cat([F.relu(c(e)).mean(-1) for c in self.convs], 1)))


def get_linear_schedule(optimizer, total, faulty):
    def factor(step):
        left = max(0, total - step)
        return left // total if faulty else left / total

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def main(watch, faulty):
    x, y, _ = reviews(2500)
    xv, yv, _ = reviews(500)
    model = TextCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    epochs = 6
    scheduler = get_linear_schedule(optimizer, epochs * 50, faulty)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
        acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    monitor.close()
    return acc
