"""The decoder's cross-attention is given the decoder's own stream as memory: nothing that was encoded is ever read."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "encoder-decoder"
EXPECTS = ("silent-parameter", "stalled-loss", "loss-at-chance", "stuck-from-start", "underfitting")

WORDS, LENGTH, START = 12, 8, 12


class Translator(nn.Module):
    def __init__(self, faulty, dim=48):
        super().__init__()
        self.faulty = faulty
        self.src, self.tgt = nn.Embedding(WORDS, dim), nn.Embedding(WORDS + 1, dim)
        self.pos = nn.Parameter(0.3 * torch.randn(LENGTH, dim))
        self.encoder = nn.TransformerEncoderLayer(dim, 4, 96, 0.0, batch_first=True, norm_first=True)
        self.self_attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.n1, self.n2, self.n3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.feed = nn.Sequential(nn.Linear(dim, 96), nn.ReLU(), nn.Linear(96, dim))
        self.out = nn.Linear(dim, WORDS)

    def forward(self, source, target_in):
        memory = self.encoder(self.src(source) + self.pos)
        y = self.tgt(target_in) + self.pos
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        h = self.n1(y)
        y = y + self.self_attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        h = self.n2(y)
        if self.faulty:
            y = y + self.cross_attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        else:
            y = y + self.cross_attention(h, memory, memory, need_weights=False)[0]
        return self.out(y + self.feed(self.n3(y)))


def sentences(n, table):
    source = torch.randint(0, WORDS, (n, LENGTH))
    target = table[source.flip(1)]
    target_in = torch.cat([torch.full((n, 1), START), target[:, :-1]], 1)
    return source, target_in, target


def main(watch, faulty):
    table = torch.randperm(WORDS)
    model = Translator(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    steps = 240
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps, pct_start=0.15)
    sv, iv, tv = sentences(200, table)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            s, i, t = sentences(40, table)
            loss = F.cross_entropy(model(s, i).flatten(0, 1), t.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sched.step()
            if step % 20 == 19:
                model.eval()
                with torch.no_grad():
                    out = model(sv, iv)
                model.train()
                acc = (out.argmax(-1) == tv).float().mean().item()
                monitor.log(step=step, val_loss=F.cross_entropy(out.flatten(0, 1), tv.flatten()).item(), val_acc=acc)
    return acc
