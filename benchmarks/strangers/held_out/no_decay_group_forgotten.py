"""Parameters are sorted into those with and without weight decay, and only the first group reaches the optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("uncovered-parameter", "unmoved-parameter", "underfitting", "stalled-loss")


class Tiny(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, 48), nn.Embedding(32, 48)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, vocab, bias=False)
        nn.init.normal_(self.emb.weight, std=0.02)
        self.head.weight = self.emb.weight

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.emb(x) + self.pos(torch.arange(x.shape[1]))
        return self.head(self.norm(self.body(h, mask=mask, is_causal=True)))


def main(watch, faulty):
    ids, vocab = text()
    model = Tiny(vocab)
    decay, plain = [], []
    for name, parameter in model.named_parameters():
        (plain if parameter.ndim < 2 or "emb" in name else decay).append(parameter)
    groups = [{"params": decay, "weight_decay": 0.1}]
    if not faulty:
        groups.append({"params": plain, "weight_decay": 0.0})
    opt = torch.optim.AdamW(groups, lr=2e-3)
    with watch(model, opt) as monitor:
        for step in range(400):
            x, y = windows(ids[:-8000], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[-8000:], 64, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
