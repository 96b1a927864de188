"""An LSTM classifier that reads the state after eighty steps of padding instead of the state after the last word."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import reviews

FAMILY = "recurrent"
EXPECTS = (
    "collapsed-activations",
    "loss-at-chance",
    "stuck-from-start",
    "vanishing-gradient",
    "underfitting",
    "stalled-loss",
    "mixed-samples",
)


class Classifier(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.emb, self.rnn = nn.Embedding(200, 24, padding_idx=0), nn.LSTM(24, 32, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, x, lengths):
        out, _ = self.rnn(self.emb(x))
        last = out[:, -1] if self.faulty else out[torch.arange(len(x)), lengths - 1]
        return self.head(last)


def main(watch, faulty):
    (x, y, n), (xt, yt, nt) = reviews(2000, 100, longest=20), reviews(500, 100, longest=20)
    model = Classifier(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, opt) as monitor:
        for _ in range(8):
            model.train()
            for i in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(x[i], n[i]), y[i])
                opt.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
            model.eval()
            with torch.no_grad():
                out = model(xt, nt)
            acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
