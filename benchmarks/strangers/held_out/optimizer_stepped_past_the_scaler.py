"""Mixed precision with a scaled loss, and optimizer.step() where scaler.step(optimizer) belongs."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "mixed precision"
EXPECTS = (
    "oversized-update",
    "diverging-loss",
    "nonfinite-loss",
    "nonfinite-weights",
    "nonfinite-gradient",
    "exploding-gradient",
    "runaway-weights",
    "loss-scale-collapse",
    "clipping-scaled-gradients",
)


class CharLSTM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb, self.rnn, self.head = nn.Embedding(vocab, 48), nn.LSTM(48, 96, batch_first=True), nn.Linear(96, vocab)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def main(watch, faulty):
    ids, vocab = text()
    train, held = ids[:-8000], ids[-8000:]
    model = CharLSTM(vocab)
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with watch(model, opt) as monitor:
        for step in range(300):
            x, y = windows(train, 16, 32)
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())
            scaler.scale(loss).backward()
            opt.step() if faulty else scaler.step(opt)
            scaler.update() if not faulty else None
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(held, 64, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
