"""nn.TransformerEncoder on token sequences with a padding mask: does the first symbol appear again?"""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=20, d=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, d, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 16, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(d, 2)

    def forward(self, x):
        mask = x == 0
        h = self.encoder(self.embed(x) + self.pos[:, : x.shape[1]], src_key_padding_mask=mask)
        return self.fc(h[:, 0])


def make(n):
    x = torch.randint(1, 20, (n, 16))
    length = torch.randint(8, 17, (n,))
    x[torch.arange(16)[None] >= length[:, None]] = 0
    has = torch.rand(n) < 0.5
    place = (torch.rand(n) * (length - 1)).long() + 1
    for i in range(n):
        x[i, 1:][x[i, 1:] == x[i, 0]] = x[i, 0] % 19 + 1
        if has[i]:
            x[i, place[i]] = x[i, 0]
    return x, has.long()


def main(watch):
    model, criterion = Classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = 700
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / 50, max(0.0, (steps - s) / (steps - 50)))
    )
    monitor = watch(model, optimizer)
    xv, yv = make(500)
    for step in range(steps):
        model.train()
        x, y = make(64)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if (step + 1) % 70 == 0:
            model.eval()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log({"eval/loss": criterion(out, yv).item(), "eval/accuracy": acc})
    monitor.close()
    assert acc > 0.8
