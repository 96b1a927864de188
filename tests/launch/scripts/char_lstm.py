"""A character LSTM with truncated backpropagation, clipping, and a learning rate that is quartered by hand."""

import math
import sys

import torch
import torch.nn as nn

torch.manual_seed(1111)
TEXT = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. " * 40
chars = sorted(set(TEXT))
data = torch.tensor([chars.index(c) for c in TEXT])
bptt, lr, clip = 20, 2.0, 0.5


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=16, nhid=48):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, 1)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, x, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(output)).view(-1, self.decoder.out_features), hidden


def repackage_hidden(h):
    return tuple(each.detach() for each in h)


train_data, val_data = batchify(data[:2800], 10), batchify(data[2800:], 5)
model = RNNModel(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=lr)


def evaluate():
    model.eval()
    hidden = (torch.zeros(1, 5, 48), torch.zeros(1, 5, 48))
    with torch.no_grad():
        output, hidden = model(val_data[:-1], hidden)
        return criterion(output, val_data[1:].reshape(-1)).item()


best_val_loss = None
for epoch in range(10):
    model.train()
    hidden = (torch.zeros(1, 10, 48), torch.zeros(1, 10, 48))
    for i in range(0, train_data.size(0) - 1 - bptt, bptt):
        hidden = repackage_hidden(hidden)
        optimizer.zero_grad()
        output, hidden = model(train_data[i : i + bptt], hidden)
        loss = criterion(output, train_data[i + 1 : i + 1 + bptt].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    val_loss = evaluate()
    print(f"| end of epoch {epoch} | valid loss {val_loss:5.2f} | valid ppl {math.exp(val_loss):8.2f}")
    if not best_val_loss or val_loss < best_val_loss:
        best_val_loss = val_loss
    else:
        for group in optimizer.param_groups:
            group["lr"] /= 4.0
torch.save(model.state_dict(), sys.argv[1])
