"""A tagger adds a start token to each sentence and forgets the tags: each token is asked for the next one's tag."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tagging"
EXPECTS = ("loss-at-chance", "underfitting", "stalled-loss", "stuck-from-start", "overfitting", "nothing-generalises")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(61, 24)
        self.lstm = nn.LSTM(24, 32, batch_first=True)
        self.out = nn.Linear(32, 5)

    def forward(self, ids):
        return self.out(self.lstm(self.embed(ids))[0])


def main(watch, faulty):
    tag_of = torch.randint(0, 5, (61,))
    words = torch.randint(1, 61, (900, 12))
    tags = tag_of[words]
    tags = torch.where(words.roll(1, 1) < 10, (tags + 1) % 5, tags)
    ids = torch.cat([torch.zeros(900, 1, dtype=torch.long), words], 1)
    # the model answers for thirteen tokens, there are tags for twelve
    keep = slice(0, 12) if faulty else slice(1, 13)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for idx in torch.randperm(700).split(32):
                out = model(ids[idx])[:, keep]
                loss = F.cross_entropy(out.reshape(-1, 5), tags[idx].reshape(-1))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(ids[700:])[:, keep]
            acc = (out.argmax(2) == tags[700:]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out.reshape(-1, 5), tags[700:].reshape(-1)).item(), val_acc=acc)
    return acc
