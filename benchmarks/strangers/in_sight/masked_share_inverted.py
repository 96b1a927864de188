"""Masked language modelling in which the comparison is the wrong way round: 85 of 100 tokens are masked, not 15."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text

FAMILY = "language"
# No rule counts masked tokens; what is left to see is how little can be learned from the rest.
EXPECTS = ("stalled-loss", "underfitting", "loss-at-chance", "stuck-from-start")


class Encoder(nn.Module):
    def __init__(self, vocab, width=96, length=24):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab + 1, width), nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, vocab))

    def forward(self, x):
        return self.head(self.body(self.words(x) + self.places))


def corrupted(x, share, mask_id, faulty):
    keep = torch.rand(x.shape) < share if faulty else torch.rand(x.shape) >= share
    return torch.where(keep, x, mask_id), torch.where(keep, -100, x)


def main(watch, faulty):
    ids, vocab = text()
    rows = ids[: len(ids) // 24 * 24].view(-1, 24)
    rows = rows[torch.randperm(len(rows))]
    train, held = rows[:3200], rows[3200:]
    model = Encoder(vocab)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=20 * 50)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            model.train()
            for idx in torch.randperm(len(train)).split(64):
                x, y = corrupted(train[idx], 0.15, vocab, faulty)
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
            model.eval()
            with torch.no_grad():
                x, y = corrupted(held, 0.15, vocab, faulty)
                out = model(x)
                val = F.cross_entropy(out.flatten(0, 1), y.flatten(), ignore_index=-100).item()
                acc = (out.argmax(-1) == y)[y != -100].float().mean().item()
            monitor.log(val_loss=val, val_acc=acc)
    with torch.no_grad():
        x, y = corrupted(held, 0.15, vocab, False)
        return (model(x).argmax(-1) == y)[y != -100].float().mean().item()
