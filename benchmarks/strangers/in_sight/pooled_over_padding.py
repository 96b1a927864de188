"""A text classifier that averages over the padding instead of over the words: the mask is the wrong way round."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import PAD, reviews

FAMILY = "text"
EXPECTS = ("collapsed-activations", "loss-at-chance", "stuck-from-start", "underfitting", "stalled-loss")


class Classifier(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.emb, self.conv = nn.Embedding(200, 32), nn.Conv1d(32, 64, 1)
        self.head = nn.Linear(64, 2)

    def forward(self, x):
        mask = (x == PAD) if self.faulty else (x != PAD)
        mask = mask.float().unsqueeze(1)
        h = F.relu(self.conv(self.emb(x).transpose(1, 2)))
        return self.head((h * mask).sum(-1) / mask.sum(-1).clamp(min=1))


def main(watch, faulty):
    (x, y, _), (xt, yt, _) = reviews(3000, 48, longest=44), reviews(600, 48, longest=44)
    model = Classifier(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
