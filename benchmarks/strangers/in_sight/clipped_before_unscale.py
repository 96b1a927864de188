"""Mixed precision: gradients are clipped while they are still multiplied by 65536, so clipping to 1 leaves nothing."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "precision"
EXPECTS = (
    "clipping-scaled-gradients",
    "gradient-always-clipped",
    "undersized-update",
    "stuck-from-start",
    "stalled-loss",
)


class TagNet(nn.Module):
    def __init__(self, vocab=60, tags=8, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 64, 3, padding=1)
        self.out = nn.Linear(64, tags)

    def forward(self, ids):
        h = F.relu(self.conv(self.embed(ids).transpose(1, 2))).transpose(1, 2)
        return self.out(h)


def tagged(n):
    """The tag of a word depends on the word and on the one before it."""
    words = torch.randint(0, 60, (n, 12))
    before = torch.cat([torch.zeros(n, 1, dtype=torch.long), words[:, :-1]], 1)
    return words, (words % 4) + 4 * (before % 2)


def main(watch, faulty):
    x, y = tagged(1600)
    xv, yv = tagged(300)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = TagNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
    monitor = watch(model, optimizer)
    for epoch in range(8):
        for words, tags in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(words)
            loss = F.cross_entropy(logits.float().flatten(0, 1), tags.flatten())
            scaler.scale(loss).backward()
            if not faulty:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(-1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), yv.flatten()).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
