"""Masked language modelling in which the masked positions were never replaced in the input."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")


def main(watch, faulty):
    ids, vocab = text()
    layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
    model = nn.Sequential(
        nn.Embedding(vocab + 1, 48), nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(48, vocab)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for step in range(250):
        x, _ = windows(ids, 24, 32)
        masked = torch.rand(x.shape) < 0.15
        target = x.masked_fill(~masked, -100)
        seen = x if faulty else x.masked_fill(masked, vocab)
        loss = F.cross_entropy(model(seen).flatten(0, 1), target.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            monitor.log(mlm_loss=loss.item())
    monitor.close()
    return loss.item()
