"""Fine print of a recipe lost: weight_decay=0.1 was meant for AdamW, Adam adds it to the gradient."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "language"
EXPECTS = (
    "decay-outweighs-gradient",
    "shrinking-weights",
    "underfitting",
    "stalled-loss",
    "loss-at-chance",
    "collapsed-activations",
)


def reviews(n, vocab=300, length=24):
    """Documents whose topic shows in a few words of its own."""
    topic = torch.randint(0, 6, (n,))
    words = torch.randint(60, vocab, (n, length))
    own = topic[:, None] * 10 + torch.randint(0, 10, (n, length))
    return torch.where(torch.rand(n, length) < 0.25, own, words), topic


class Classifier(nn.Module):
    def __init__(self, vocab=300, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.fc = nn.Linear(dim, 6)

    def forward(self, ids):
        return self.fc(self.encoder(self.embed(ids)).mean(1))


def main(watch, faulty):
    xt, yt = reviews(2000)
    xv, yv = reviews(400)
    loader = DataLoader(TensorDataset(xt, yt), batch_size=50, shuffle=True)
    model = Classifier()
    algorithm = torch.optim.Adam if faulty else torch.optim.AdamW
    optimizer = algorithm(model.parameters(), lr=1e-3, weight_decay=0.1)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for ids, topic in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(ids), topic).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_accuracy=acc, epoch=epoch)
    monitor.close()
    return acc
