"""Positions are added to the token embeddings as plain numbers, 0 to 63: the tokens drown in them."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = (
    "stalled-loss",
    "underfitting",
    "loss-at-chance",
    "collapsed-activations",
    "stuck-from-start",
    "extreme-input",
)


class Tiny(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, 48), 0.1 * torch.randn(64, 48)
        nn.init.normal_(self.emb.weight, std=0.1)
        if faulty:
            self.pos = torch.arange(64.0).unsqueeze(-1).expand(64, 48)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(48, vocab)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.body(self.emb(x) + self.pos[: x.shape[1]], mask=mask, is_causal=True))


def main(watch, faulty):
    ids, vocab = text()
    model = Tiny(vocab, faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, opt):
        for _ in range(300):
            x, y = windows(ids[:-8000], 12, 64)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    with torch.no_grad():
        x, y = windows(ids[-8000:], 100, 64)
        return -F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
