"""A search index in a network: the documents to be found are the ones trained on; only the queries are new."""

import torch
import torch.nn.functional as F
from torch import nn

DOCUMENTS, WORDS, LENGTH = 120, 400, 40


def library():
    topics = torch.distributions.Dirichlet(torch.full((WORDS,), 0.05)).sample((DOCUMENTS,))
    return torch.multinomial(topics, LENGTH, replacement=True)


def queries(books, n, words=10):
    """Some words of a document, a few of them replaced by others."""
    which = torch.randint(0, DOCUMENTS, (n,))
    q = books[which].gather(1, torch.rand(n, LENGTH).argsort(1)[:, :words])
    wrong = torch.rand(n, words) < 0.2
    return torch.where(wrong, torch.randint(0, WORDS, (n, words)), q), which


class Index(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, dim, mode="mean")
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, DOCUMENTS))

    def forward(self, ids):
        return self.net(self.words(ids))


def main(watch):
    books = library()
    model = Index()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = 900
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    qv, dv = queries(books, 500)
    monitor = watch(model, optimizer)
    for step in range(steps):
        if step % 3 == 0:  # indexing: a whole document and its number
            which = torch.randint(0, DOCUMENTS, (48,))
            ids = books[which]
        else:  # retrieval
            ids, which = queries(books, 48)
        loss = F.cross_entropy(model(ids), which)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 60 == 59:
            model.eval()
            with torch.no_grad():
                out = model(qv)
                again = (model(books).argmax(1) == torch.arange(DOCUMENTS)).float().mean().item()
            model.train()
            hits = (out.argmax(1) == dv).float().mean().item()
            monitor.log({"val/loss": F.cross_entropy(out, dv).item(), "val/hits_at_1": hits, "index/recall": again})
    monitor.close()
    assert hits > 0.75, hits
