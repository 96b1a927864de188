"""The annotated Transformer's copy task: Noam schedule, label smoothing by KL divergence over summed tokens."""

import torch
import torch.nn.functional as F
from torch import nn


class Copier(nn.Module):
    def __init__(self, vocabulary=11, dim=32):
        super().__init__()
        self.embed, self.pos = nn.Embedding(vocabulary, dim), nn.Parameter(0.1 * torch.randn(1, 10, dim))
        self.core = nn.Transformer(dim, 4, 2, 2, 64, dropout=0.1, batch_first=True)
        self.generator = nn.Linear(dim, vocabulary)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        scale = self.embed.embedding_dim**0.5
        a, b = (self.embed(t) * scale + self.pos[:, : t.shape[1]] for t in (src, tgt))
        return F.log_softmax(self.generator(self.core(a, b, tgt_mask=mask, tgt_is_causal=True)), -1)


def smoothed(target, classes, smoothing=0.1):
    true = torch.full((*target.shape, classes), smoothing / (classes - 1))
    return true.scatter_(-1, target[..., None], 1 - smoothing)


def rate(step, dim=32, factor=1.0, warmup=150):
    step = max(step, 1)
    return factor * dim**-0.5 * min(step**-0.5, step * warmup**-1.5)


def main(watch):
    model = Copier()
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    criterion = nn.KLDivLoss(reduction="sum")
    monitor = watch(model, optimizer)
    for epoch in range(10):
        model.train()
        for _ in range(40):
            data = torch.randint(1, 11, (32, 10))
            data[:, 0] = 1
            out = model(data, data[:, :-1])
            loss = criterion(out, smoothed(data[:, 1:], 11)) / data[:, 1:].numel()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
        model.eval()
        with torch.no_grad():
            data = torch.randint(1, 11, (100, 10))
            data[:, 0] = 1
            accuracy = (model(data, data[:, :-1]).argmax(-1) == data[:, 1:]).float().mean().item()
        monitor.log({"val/token_accuracy": accuracy, "epoch": epoch})
    monitor.close()
    assert accuracy > 0.6
