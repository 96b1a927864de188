"""A linear-chain CRF over a GRU: the loss is a whole sentence's negative log likelihood, summed over its words."""

import torch
from torch import nn

TAGS, WORDS, LENGTH = 5, 40, 12


class CRFTagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * dim, TAGS)
        self.moves = nn.Parameter(torch.zeros(TAGS, TAGS))
        self.begin = nn.Parameter(torch.zeros(TAGS))

    def emissions(self, x):
        return self.emit(self.gru(self.embed(x))[0])

    def forward(self, x, tags):
        e = self.emissions(x)
        gold = self.begin[tags[:, 0]] + e.gather(2, tags[..., None]).squeeze(2).sum(1)
        gold = gold + self.moves[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = self.begin + e[:, 0]
        for t in range(1, e.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + self.moves, 1) + e[:, t]
        return (torch.logsumexp(alpha, 1) - gold).mean()

    @torch.no_grad()
    def decode(self, x):
        e = self.emissions(x)
        best, back = self.begin + e[:, 0], []
        for t in range(1, e.shape[1]):
            best, where = (best[:, :, None] + self.moves).max(1)
            best = best + e[:, t]
            back.append(where)
        path = [best.argmax(1)]
        for where in reversed(back):
            path.append(where.gather(1, path[-1][:, None]).squeeze(1))
        return torch.stack(path[::-1], 1)


def corpus(n, moves, emit):
    tags = torch.zeros(n, LENGTH, dtype=torch.long)
    tags[:, 0] = torch.randint(0, TAGS, (n,))
    for t in range(1, LENGTH):
        tags[:, t] = torch.multinomial(moves[tags[:, t - 1]], 1).squeeze(1)
    words = torch.multinomial(emit[tags.flatten()], 1).view(n, LENGTH)
    return words, tags


def main(watch):
    moves = (3 * torch.randn(TAGS, TAGS)).softmax(1)
    emit = (2 * torch.randn(TAGS, WORDS)).softmax(1)
    x, y = corpus(1500, moves, emit)
    xv, yv = corpus(300, moves, emit)
    model = CRFTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.4)
    with watch(model, optimizer) as monitor:
        for epoch in range(8):
            for rows in torch.randperm(len(x)).split(32):
                loss = model(x[rows], y[rows])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            schedule.step()
            with torch.no_grad():
                val = model(xv, yv).item()
            acc = (model.decode(xv) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_loss=val, val_acc=acc)
    assert acc > 0.7, acc
