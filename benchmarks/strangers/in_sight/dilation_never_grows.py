"""The WaveNet-like stack forgets to double its dilation: it sees 11 steps and the answer lies more than 20 back."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "receptive field"
EXPECTS = ("stuck-from-start", "loss-at-chance", "stalled-loss", "underfitting", "nothing-generalises")

SYMBOLS, LENGTH = 4, 28


class WaveBlock(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.left = 2 * dilation
        self.filter = nn.Conv1d(width, width, 3, dilation=dilation)
        self.gate = nn.Conv1d(width, width, 3, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        padded = F.pad(x, (self.left, 0))
        return x + self.mix(torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded)))


class WaveNet(nn.Module):
    def __init__(self, width=32, layers=5, faulty=False):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS + 2, width)
        self.stack = nn.ModuleList()
        for i in range(layers):
            dilation = 1 if faulty else 2**i
            self.stack.append(WaveBlock(width, dilation))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(width, SYMBOLS, 1))

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        for block in self.stack:
            x = block(x)
        return self.head(x)[:, :, -1]


def recall_batch(n):
    """A key at the beginning, then a long run of noise symbols, then the question."""
    x = torch.randint(SYMBOLS, SYMBOLS + 1, (n, LENGTH))
    key = torch.randint(0, SYMBOLS, (n,))
    x[torch.arange(n), torch.randint(0, 5, (n,))] = key
    x[:, -1] = SYMBOLS + 1
    return x, key


def main(watch, faulty):
    net = WaveNet(faulty=faulty)
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    steps = 360
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    x_test, y_test = recall_batch(300)
    monitor = watch(net, optimizer)
    for step in range(steps):
        x, y = recall_batch(24)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 25 == 24:
            net.eval()
            with torch.no_grad():
                logits = net(x_test)
            net.train()
            acc = (logits.argmax(1) == y_test).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(logits, y_test).item(), val_acc=acc)
    monitor.close()
    return acc
