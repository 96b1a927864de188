"""The text classification tutorial: embedding bag, SGD at a rate of 5 with clipping to 0.1, StepLR on no progress."""

import torch
from torch import nn


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)
        self.embedding.weight.data.uniform_(-0.5, 0.5)
        self.fc.weight.data.uniform_(-0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def make(n, words):
    labels = torch.randint(4, (n,))
    return labels, [torch.multinomial(words[label], int(torch.randint(8, 30, ())), True) for label in labels]


def collate(labels, texts, i):
    chosen = [texts[k] for k in i.tolist()]
    offsets = torch.tensor([0] + [len(t) for t in chosen[:-1]]).cumsum(0)
    return labels[i], torch.cat(chosen), offsets


def main(watch):
    words = torch.distributions.Dirichlet(torch.full((500,), 0.3)).sample((4,))
    labels, texts = make(2000, words)
    held = collate(*make(400, words), torch.arange(400))
    model = TextClassificationModel(500, 64, 4)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1)
    monitor = watch(model, optimizer)
    best = None
    for epoch in range(10):
        model.train()
        for i in torch.randperm(2000).split(64):
            label, text, offsets = collate(labels, texts, i)
            optimizer.zero_grad()
            loss = criterion(model(text, offsets), label)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(held[1], held[2]).argmax(1) == held[0]).float().mean().item()
        monitor.log(valid_accuracy=accuracy, epoch=epoch)
        if best is not None and best > accuracy:
            scheduler.step()
        else:
            best = accuracy
    monitor.close()
    assert accuracy > 0.85
