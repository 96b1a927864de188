"""The collate function of the validation loader pads on the left, the model reads the state at length - 1 as in
training, where padding is on the right."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from strangers.sequences import reviews

FAMILY = "padding"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "misread-validation")


def collate(side):
    def together(batch):
        texts, labels = zip(*batch, strict=False)
        lengths = torch.tensor([len(t) for t in texts])
        x = torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
        for row, text in zip(x, texts, strict=False):
            if side == "right":
                row[: len(text)] = text
            else:
                row[-len(text) :] = text
        return x, lengths, torch.stack(labels)

    return together


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 24, padding_idx=0)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(32, 2)

    def forward(self, x, lengths):
        out, _ = self.gru(self.embedding(x))
        last = out[torch.arange(len(x)), lengths - 1]
        return self.fc(self.drop(last))


def corpus(n):
    x, y, lengths = reviews(n, length=24, words=100)
    return [(x[i, : lengths[i]], y[i]) for i in range(n)]


def main(watch, faulty):
    train_loader = DataLoader(corpus(3200), batch_size=64, shuffle=True, collate_fn=collate("right"))
    val_loader = DataLoader(corpus(600), batch_size=100, collate_fn=collate("left" if faulty else "right"))
    model = Sentiment()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
    with watch(model, optimizer) as monitor:
        for epoch in range(6):
            model.train()
            for x, lengths, y in train_loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x, lengths), y).backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            loss = hits = seen = 0
            with torch.no_grad():
                for x, lengths, y in val_loader:
                    out = model(x, lengths)
                    loss += F.cross_entropy(out, y, reduction="sum").item()
                    hits += (out.argmax(1) == y).sum().item()
                    seen += len(y)
            monitor.log(epoch=epoch, val_loss=loss / seen, val_acc=hits / seen)
    return hits / seen
