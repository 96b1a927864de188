"""The old word-level language model example: SGD by hand at a rate of 20, clip 0.25, rate quartered on no progress."""

import torch
import torch.nn.functional as F
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=32, nhid=64):
        super().__init__()
        self.drop, self.encoder, self.rnn = nn.Dropout(0.2), nn.Embedding(ntoken, ninp), nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return F.log_softmax(self.decoder(self.drop(out)).flatten(0, 1), dim=1), hidden


def batchify(data, size):
    n = len(data) // size
    return data[: n * size].view(size, n).t().contiguous()


def main(watch):
    chain = torch.distributions.Dirichlet(torch.full((40,), 0.08)).sample((40,))
    state, text = 0, []
    for _ in range(16000):
        state = int(torch.multinomial(chain[state], 1))
        text.append(state)
    train, valid = batchify(torch.tensor(text[:14000]), 20), batchify(torch.tensor(text[14000:]), 10)
    model, lr, best = RNNModel(40), 20.0, None
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    monitor = watch(model, optimizer)

    def evaluate():
        model.eval()
        hidden, total = None, 0.0
        with torch.no_grad():
            for i in range(0, len(valid) - 1, 20):
                x, y = valid[i : min(i + 20, len(valid) - 1)], valid[i + 1 : min(i + 20, len(valid) - 1) + 1]
                out, hidden = model(x, hidden)
                total += len(x) * F.nll_loss(out, y.flatten()).item()
        return total / (len(valid) - 1)

    for epoch in range(8):
        model.train()
        hidden = None
        for i in range(0, len(train) - 1, 20):
            x, y = train[i : min(i + 20, len(train) - 1)], train[i + 1 : min(i + 20, len(train) - 1) + 1]
            model.zero_grad()
            hidden = tuple(h.detach() for h in hidden) if hidden else None
            out, hidden = model(x, hidden)
            loss = F.nll_loss(out, y.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        val = evaluate()
        monitor.log({"valid loss": val, "epoch": epoch})
        if not best or val < best:
            best = val
        else:
            lr /= 4.0
            optimizer.param_groups[0]["lr"] = lr
    monitor.close()
    assert val < 2.6
