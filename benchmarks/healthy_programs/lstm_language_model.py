"""The word-language-model example in small: an LSTM over characters, batchify, BPTT with repackaged hidden state."""

import math
import textwrap

import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=32, nhid=96):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, 1)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(out)).flatten(0, 1), hidden


def batchify(data, bsz):
    n = len(data) // bsz
    return data[: n * bsz].view(bsz, -1).t().contiguous()


def main(watch):
    text = open(textwrap.__file__, encoding="utf-8").read()
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([vocab[c] for c in text])
    train_data, val_data, bptt = batchify(ids[:-2500], 16), batchify(ids[-2500:], 8), 32
    model, criterion = RNNModel(len(vocab)), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    monitor = watch(model, optimizer)

    def evaluate():
        model.eval()
        total, hidden = 0.0, None
        with torch.no_grad():
            for i in range(0, len(val_data) - 1, bptt):
                n = min(bptt, len(val_data) - 1 - i)
                out, hidden = model(val_data[i : i + n], hidden)
                total += n * criterion(out, val_data[i + 1 : i + 1 + n].flatten()).item()
        return total / (len(val_data) - 1)

    losses = []
    for _epoch in range(14):
        model.train()
        hidden = None
        for i in range(0, len(train_data) - 1, bptt):
            n = min(bptt, len(train_data) - 1 - i)
            hidden = None if hidden is None else tuple(h.detach() for h in hidden)
            model.zero_grad()
            out, hidden = model(train_data[i : i + n], hidden)
            loss = criterion(out, train_data[i + 1 : i + 1 + n].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        losses.append(evaluate())
        monitor.log({"valid loss": losses[-1], "valid ppl": math.exp(losses[-1])})
    monitor.close()
    assert losses[-1] < 0.85 * losses[0]
