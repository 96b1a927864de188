"""Sequence to sequence with teacher forcing half of the time: reverse a string of ten symbols; padding ignored."""

import random

import torch
from torch import nn

PAD, SOS, V = 0, 1, 12


class Seq2Seq(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(V, 32, padding_idx=PAD)
        self.encoder = nn.GRU(32, hidden, batch_first=True)
        self.decoder = nn.GRU(32, hidden, batch_first=True)
        self.out = nn.Linear(hidden, V)

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        _, h = self.encoder(self.embedding(src))
        token, outputs = torch.full((len(src), 1), SOS), []
        for t in range(trg.shape[1]):
            o, h = self.decoder(self.embedding(token), h)
            logits = self.out(o[:, -1])
            outputs.append(logits)
            teach = random.random() < teacher_forcing_ratio
            token = (trg[:, t] if teach else logits.argmax(1)).unsqueeze(1)
        return torch.stack(outputs, 1)


def make(n):
    src, trg = torch.zeros(n, 6, dtype=torch.long), torch.zeros(n, 6, dtype=torch.long)
    for i in range(n):
        length = random.randint(3, 6)
        word = torch.randint(2, V, (length,))
        src[i, :length], trg[i, :length] = word, word.flip(0)
    return src, trg


def main(watch):
    model = Seq2Seq()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    monitor = watch(model, optimizer)
    vs, vt = make(300)
    for i in range(450):
        src, trg = make(64)
        optimizer.zero_grad()
        loss = criterion(model(src, trg).view(-1, V), trg.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        if i % 50 == 49:
            model.eval()
            with torch.no_grad():
                out = model(vs, vt, 0)
                val = criterion(out.view(-1, V), vt.view(-1)).item()
            acc = (out.argmax(-1) == vt)[vt != PAD].float().mean().item()
            monitor.log(valid_loss=val, token_accuracy=acc)
            model.train()
    monitor.close()
    assert acc > 0.55
