"""A sequence-to-sequence model that sorts its input: with teacher forcing the decoder is fed the very token it is to
predict, because nobody shifted the targets."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "sequence to sequence"
EXPECTS = ("leaked-answer", "suspiciously-perfect")
VOCAB, LENGTH, START = 12, 7, 12


def batch(n):
    source = torch.randint(0, VOCAB, (n, LENGTH))
    return source, source.sort(1).values


class Seq2Seq(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, source, decoder_input):
        _, h = self.encoder(self.embed(source))
        return self.out(self.decoder(self.embed(decoder_input), h)[0])

    @torch.no_grad()
    def translate(self, source):
        _, h = self.encoder(self.embed(source))
        token, out = torch.full((len(source), 1), START), []
        for _ in range(LENGTH):
            y, h = self.decoder(self.embed(token), h)
            token = self.out(y).argmax(-1)
            out.append(token)
        return torch.cat(out, 1)


def main(watch, faulty):
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss_on(source, target):
        shifted = torch.cat([torch.full((len(target), 1), START), target[:, :-1]], 1)
        logits = model(source, target if faulty else shifted)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())

    monitor = watch(model, optimizer)
    for step in range(700):
        loss = loss_on(*batch(48))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                monitor.log(val_loss=loss_on(*batch(300)).item())
    monitor.close()
    source, target = batch(300)
    return (model.translate(source) == target).float().mean().item()
