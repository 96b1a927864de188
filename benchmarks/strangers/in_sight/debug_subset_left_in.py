"""`[:80]`, put in to try the loop quickly, is still in the line that makes the training set."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import reviews

FAMILY = "text"
EXPECTS = ("overfitting", "overconfident", "gap-from-start", "nothing-generalises", "repeated-batches")


class TextCNN(nn.Module):
    def __init__(self, words=200, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, 32, k, padding=k // 2) for k in (1, 3, 5))
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(96, 2)

    def forward(self, ids):
        h = self.embedding(ids).transpose(1, 2)
        pooled = [F.relu(convolution(h)).mean(2) for convolution in self.convolutions]
        return self.out(self.dropout(torch.cat(pooled, 1)))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main(watch, faulty):
    x, y, _ = reviews(3000)
    train = list(zip(x[:2000], y[:2000], strict=True))[: 80 if faulty else None]
    x_val, y_val, x_test, y_test = x[2000:2400], y[2000:2400], x[2400:], y[2400:]
    model = TextCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    steps, epoch = 0, 0
    with watch(model, optimizer) as monitor:
        while steps < 400:
            model.train()
            for rows in torch.randperm(len(train)).split(40):
                inputs = torch.stack([train[i][0] for i in rows])
                labels = torch.stack([train[i][1] for i in rows])
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                steps += 1
            if steps % 20 < 3:
                loss, acc = evaluate(model, x_val, y_val)
                monitor.log(epoch=epoch, dev_loss=loss, dev_accuracy=acc)
            epoch += 1
    return evaluate(model, x_test, y_test)[1]
