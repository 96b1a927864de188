"""The loop over LSTMCell passes (h, h) where (h, c) belongs: the cell's own memory is thrown away at every step."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent cell"
EXPECTS = (
    "stuck-from-start",
    "loss-at-chance",
    "vanishing-gradient",
    "stalled-loss",
    "underfitting",
    "nothing-generalises",
)


class Counter(nn.Module):
    """Reads brackets and noise, answers how deep it is at the end."""

    def __init__(self, faulty, dim=12, hidden=40, classes=6):
        super().__init__()
        self.faulty, self.hidden = faulty, hidden
        self.embed = nn.Embedding(4, dim)
        self.cell = nn.LSTMCell(dim, hidden)
        self.out = nn.Linear(hidden, classes)
        with torch.no_grad():
            self.cell.bias_ih[hidden : 2 * hidden].fill_(1.0)

    def forward(self, ids):
        x = self.embed(ids)
        h = x.new_zeros(len(ids), self.hidden)
        c = torch.zeros_like(h)
        for t in range(ids.shape[1]):
            if self.faulty:
                h, c = self.cell(x[:, t], (h, h))
            else:
                h, c = self.cell(x[:, t], (h, c))
        return self.out(h)


def strings(n, length=30):
    """Token 1 appears 0 to 5 times among fillers 0, 2 and 3; the answer is how often."""
    y = torch.randint(0, 6, (n,))
    x = torch.tensor([0, 2, 3])[torch.randint(0, 3, (n, length))]
    for i, k in enumerate(y.tolist()):
        x[i, torch.randperm(length - 8)[:k]] = 1
    return x, y


def main(watch, faulty):
    x, y = strings(4000)
    xv, yv = strings(500)
    model = Counter(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    epochs = 6
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 8e-3, total_steps=epochs * 63)
    with watch(model, opt) as monitor:
        for epoch in range(epochs):
            for idx in torch.randperm(len(x)).split(64):
                opt.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
