"""Speech with CTC: the loss takes logarithms of probabilities and gets the scores as they are."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import speech

FAMILY = "speech"
EXPECTS = ("mismatched-loss", "unbounded-negative-loss", "diverging-loss", "runaway-weights", "growing-activations")


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(12, 48, batch_first=True, bidirectional=True), nn.Linear(96, 9)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


def errors(out, y):
    """Share of utterances not spelled exactly right by greedy decoding."""
    best, wrong = out.argmax(-1), 0
    for path, said in zip(best, y, strict=True):
        symbols = [int(s) for s in torch.unique_consecutive(path) if s != 0]
        wrong += symbols != said.tolist()
    return wrong / len(y)


def main(watch, faulty):
    (x, y), (xt, yt) = speech(1200), speech(200)
    model = Recogniser()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    lengths, said = torch.full((40,), 36), torch.full((40,), 6)
    with watch(model, opt) as monitor:
        for _ in range(8):
            for i in torch.randperm(len(x)).split(40):
                out = model(x[i]).transpose(0, 1)
                loss = F.ctc_loss(out if faulty else out.log_softmax(-1), y[i], lengths, said)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                wer = errors(model(xt), yt)
            monitor.log(val_error_rate=wer)
    return -wer
