"""Speech-like frames, a bidirectional GRU and CTC: long blank plateau first, then letters."""

import torch
import torch.nn.functional as F
from torch import nn

LETTERS = 6


def batch(prototypes, n):
    frames, targets, lengths = torch.zeros(n, 40, 13), [], []
    for k in range(n):
        word = torch.randint(1, LETTERS + 1, (int(torch.randint(3, 7, ())),))
        at = 1
        for letter in word:
            hold = int(torch.randint(3, 6, ()))
            frames[k, at : at + hold] = prototypes[letter - 1]
            at += hold + 1
        targets.append(word)
        lengths.append(len(word))
    return frames + 0.3 * torch.randn_like(frames), torch.cat(targets), torch.tensor(lengths)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(13, 48, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(96, LETTERS + 1)

    def forward(self, x):
        return F.log_softmax(self.fc(self.rnn(x)[0]), dim=-1)


def main(watch):
    prototypes = torch.randn(LETTERS, 13)
    model = Recogniser()
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = 400
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    monitor = watch(model, optimizer)
    held = batch(prototypes, 100)
    sizes = torch.full((100,), 40)
    for step in range(steps):
        frames, targets, lengths = batch(prototypes, 24)
        loss = ctc(model(frames).transpose(0, 1), targets, sizes[:24], lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        if step % 50 == 49:
            model.eval()
            with torch.no_grad():
                val = ctc(model(held[0]).transpose(0, 1), held[1], sizes, held[2]).item()
            model.train()
            monitor.log({"val/ctc_loss": val})
    monitor.close()
    assert val < 0.5
