"""A transformer trained with Adam at 0.3, the rate of somebody's MLP: it never gets below the letter frequencies."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = (
    "oversized-update", "stuck-from-start", "stalled-loss", "loss-at-chance", "diverging-loss", "missing-warmup",
    "runaway-weights",
)  # fmt: skip


class Small(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, 48), nn.Embedding(32, 48)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(48, vocabulary)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.embed(x) + self.place(torch.arange(x.shape[1]))
        return self.head(self.body(h, mask=mask, is_causal=True))


def main(watch, faulty):
    ids, vocabulary = text()
    model = Small(vocabulary)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3 if faulty else 1e-3)
    edge = int(0.9 * len(ids))
    with watch(model, optimizer) as monitor:
        for step in range(500):
            x, y = windows(ids[:edge], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[edge:], 64, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
