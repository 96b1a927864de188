"""A collate function sorts the sequences by length for packing, and leaves the labels in the order they came."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

FAMILY = "recurrent"
EXPECTS = (
    "loss-at-chance",
    "stuck-from-start",
    "nothing-generalises",
    "underfitting",
    "stalled-loss",
    "oscillating-loss",
)


def strokes(n):
    """Short walks of three kinds: straight, turning, zigzag."""
    out = []
    for _ in range(n):
        kind, length = int(torch.randint(0, 3, (1,))), int(torch.randint(8, 24, (1,)))
        turn = {0: torch.zeros(length), 1: torch.full((length,), 0.4), 2: 0.9 * (-1.0) ** torch.arange(length)}[kind]
        angle = 6.28 * torch.rand(1) + (turn + 0.25 * torch.randn(length)).cumsum(0)
        out.append((torch.stack([angle.cos(), angle.sin()], 1), kind))
    return out


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(2, 32, batch_first=True), nn.Linear(32, 3)

    def forward(self, x, lengths):
        _, h = self.gru(pack_padded_sequence(x, lengths, batch_first=True))
        return self.out(h[-1])


def main(watch, faulty):
    def collate(batch):
        labels = [label for _, label in batch]
        batch = sorted(batch, key=lambda pair: -len(pair[0]))
        if not faulty:
            labels = [label for _, label in batch]
        walks = [walk for walk, _ in batch]
        return pad_sequence(walks, batch_first=True), torch.tensor([len(w) for w in walks]), torch.tensor(labels)

    data = strokes(1300)
    loader = DataLoader(data[:1100], batch_size=32, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(data[1100:], batch_size=50, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    monitor = watch(model, optimizer)
    for epoch in range(8):
        model.train()
        for x, lengths, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x, lengths), labels).backward()
            optimizer.step()
        model.eval()
        losses, right = [], 0
        with torch.no_grad():
            for x, lengths, labels in val_loader:
                out = model(x, lengths)
                losses.append(F.cross_entropy(out, labels).item())
                right += (out.argmax(1) == labels).sum().item()
        monitor.log(val_loss=sum(losses) / len(losses), val_acc=right / 200, epoch=epoch)
    monitor.close()
    return right / 200
