"""A language model whose attention has no causal mask: it reads the next token in the input."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")


class LM(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.faulty = faulty
        self.embed, self.pos = nn.Embedding(vocab, 48), nn.Embedding(32, 48)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(48, vocab)

    def forward(self, x):
        T = x.shape[1]
        mask = None if self.faulty else nn.Transformer.generate_square_subsequent_mask(T)
        return self.head(self.encoder(self.embed(x) + self.pos(torch.arange(T)), mask=mask))


def main(watch, faulty):
    ids, vocab = text()
    model = LM(vocab, faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)
    for it in range(300):
        x, y = windows(ids[:-5000], 16, 32)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if it % 60 == 59:
            with torch.no_grad():
                x, y = windows(ids[-5000:], 32, 32)
                val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
            monitor.log(val_loss=val)
    monitor.close()
    return val  # a leak makes the loss lower: a better score is the symptom here
