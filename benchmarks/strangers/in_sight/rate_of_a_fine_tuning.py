"""The learning rate of a script for fine-tuning, 2e-5, for a network that is trained from scratch."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "recurrent"
EXPECTS = ("undersized-update", "stuck-from-start", "stalled-loss", "underfitting", "loss-at-chance", "endless-warmup")


class Tagger(nn.Module):
    def __init__(self, words=60, tags=6):
        super().__init__()
        self.embedding = nn.Embedding(words, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, tags)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0])


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y, ignore_index=-100).item()
    known = y != -100
    return loss, (logits.argmax(-1) == y)[known].float().mean().item()


def main(watch, faulty):
    x, y, _ = tagged(2600)
    x, xv, xt, y, yv, yt = x[:1600], x[1600:2000], x[2000:], y[:1600], y[1600:2000], y[2000:]
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5 if faulty else 2e-3)
    steps = 6 * 50
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    with watch(model, optimizer) as monitor:
        for epoch in range(6):
            model.train()
            for rows in torch.randperm(1600).split(32):
                loss = F.cross_entropy(model(x[rows]).transpose(1, 2), y[rows], ignore_index=-100)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
            loss, accuracy = evaluate(model, xv, yv)
            monitor.log(epoch=epoch, eval_loss=loss, eval_accuracy=accuracy)
    return evaluate(model, xt, yt)[1]
