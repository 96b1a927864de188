"""Short commands padded to the length of the longest: the loss counts the padding, which is most of the tokens."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

FAMILY = "language"
EXPECTS = ("padded-targets", "lopsided-labels", "underfitting")
PAD = 0
VERBS = "open close move copy list find send read".split()
NOUNS = "file folder page mail note table letter picture".split()


def sentences(n, rng):
    """The second word decides the last one, and a few sentences are very long."""
    words = ["<pad>", "<s>", "the", "and"] + VERBS + NOUNS + [f"{noun}s" for noun in NOUNS]
    known = {w: i for i, w in enumerate(words)}
    out = []
    for _ in range(n):
        verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
        other = NOUNS[(NOUNS.index(noun) + VERBS.index(verb)) % len(NOUNS)]
        text = [verb, "the", noun, "and", other + "s"]
        if rng.random() < 0.03:
            text = text * 9
        out.append(torch.tensor([known["<s>"]] + [known[w] for w in text]))
    return out, len(words)


class LM(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embed, self.rnn, self.out = (
            nn.Embedding(vocab, dim),
            nn.GRU(dim, 64, batch_first=True),
            nn.Linear(64, vocab),
        )

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


def main(watch, faulty):
    rng = random.Random(1)
    texts, vocab = sentences(1500, rng)
    longest = max(len(t) for t in texts)

    def collate(batch):
        out = pad_sequence(batch, batch_first=True, padding_value=PAD)
        return F.pad(out, (0, longest - out.shape[1]), value=PAD)

    loader = DataLoader(texts[:1300], batch_size=32, shuffle=True, collate_fn=collate)
    val = collate(texts[1300:])
    criterion = nn.CrossEntropyLoss() if faulty else nn.CrossEntropyLoss(ignore_index=PAD)
    model = LM(vocab)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(6):
        for batch in loader:
            loss = criterion(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            out = model(val[:, :-1])
            monitor.log(val_loss=criterion(out.flatten(0, 1), val[:, 1:].flatten()).item(), epoch=epoch)
    monitor.close()
    real = val[:, 1:] != PAD
    return (out.argmax(-1) == val[:, 1:])[real].float().mean().item()
