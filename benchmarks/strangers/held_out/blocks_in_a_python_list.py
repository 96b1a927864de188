"""The transformer's blocks are kept in a Python list: the optimizer never hears of them."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("uncovered-parameter", "unmoved-parameter", "stale-optimizer")


class GPT(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.embed, self.pos = nn.Embedding(vocab, 48), nn.Embedding(32, 48)
        blocks = [nn.TransformerEncoderLayer(48, 4, 96, 0.0, batch_first=True, norm_first=True) for _ in range(2)]
        self.blocks = blocks if faulty else nn.ModuleList(blocks)
        self.head = nn.Linear(48, vocab)

    def forward(self, x):
        h = self.embed(x) + self.pos(torch.arange(x.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        for block in self.blocks:
            h = block(h, src_mask=mask, is_causal=True)
        return self.head(h)


def main(watch, faulty):
    ids, vocab = text()
    model = GPT(vocab, faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with watch(model, optimizer) as monitor:
        for it in range(250):
            x, y = windows(ids[:-5000], 12, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if it % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[-5000:], 32, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
