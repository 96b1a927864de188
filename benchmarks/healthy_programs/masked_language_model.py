"""BERT-style pre-training in the small: 15 % of tokens masked, ignored labels elsewhere, linear decay after warm-up."""

import torch
import torch.nn.functional as F
from torch import nn

MASK, WORDS = 0, 30


class MiniBert(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(WORDS + 1, dim), nn.Embedding(16, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.norm, self.decoder = nn.LayerNorm(dim), nn.Linear(dim, WORDS + 1)
        self.decoder.weight = self.tokens.weight
        self.apply(self.init)

    @staticmethod
    def init(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.data.normal_(0, 0.02)

    def forward(self, x):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        return self.decoder(self.norm(self.encoder(h)))


def sentences(n):
    start, stride = torch.randint(WORDS, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(16)) % WORDS + 1


def masked(x):
    chosen = torch.rand(x.shape) < 0.15
    labels = torch.where(chosen, x, torch.full_like(x, -100))
    coin = torch.rand(x.shape)
    x = torch.where(chosen & (coin < 0.8), torch.full_like(x, MASK), x)
    return torch.where(chosen & (coin > 0.9), torch.randint(1, WORDS + 1, x.shape), x), labels


def main(watch):
    model = MiniBert()
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=2e-3
    )
    total = 500
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / 50, (total - s) / (total - 50)))
    monitor = watch(model, optimizer)
    held = masked(sentences(300))
    for step in range(total):
        model.train()
        x, labels = masked(sentences(32))
        loss = F.cross_entropy(model(x).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 50 == 49:
            model.eval()
            with torch.no_grad():
                val = F.cross_entropy(model(held[0]).flatten(0, 1), held[1].flatten()).item()
            monitor.log(eval_loss=val, eval_perplexity=2.718281828**val)
    monitor.close()
    assert val < 2.0
