"""A small character GPT whose AdamW was exchanged for plain SGD, and the learning rate was left as it was."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("undersized-update", "stalled-loss", "stuck-from-start", "underfitting", "loss-at-chance", "faded-gradient")

CONTEXT, WIDTH = 32, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


@torch.no_grad()
def estimate_loss(model, ids, batches=8):
    model.eval()
    losses = []
    for _ in range(batches):
        x, y = windows(ids, 32, CONTEXT)
        losses.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(losses) / len(losses)


def main(watch, faulty):
    ids, vocabulary = text()
    train, val = ids[:70000], ids[70000:]
    model = GPT(vocabulary)
    make = torch.optim.SGD if faulty else torch.optim.AdamW
    optimizer = make(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for step in range(400):
            if step % 100 == 0:
                monitor.log(val_loss=estimate_loss(model, val))
            x, y = windows(train, 16, CONTEXT)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        monitor.log(val_loss=estimate_loss(model, val))
    return -estimate_loss(model, val, 20)
