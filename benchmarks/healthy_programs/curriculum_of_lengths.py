"""Healthy: running parity with a curriculum; whenever the net is good the sequences get longer and the loss leaps
up."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ()


class Parity(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, bits):
        return self.out(self.rnn(bits[..., None])[0]).squeeze(-1)


def batch(n, length):
    bits = torch.randint(0, 2, (n, length)).float()
    return bits, bits.cumsum(1) % 2


def main(watch):
    model = Parity()
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    monitor = watch(model, optimizer)
    length, recent = 2, []
    for step in range(1400):
        bits, parity = batch(48, length)
        out = model(bits)
        loss = F.binary_cross_entropy_with_logits(out, parity)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent.append(((out > 0) == (parity > 0)).float().mean().item())
        if len(recent) >= 30 and sum(recent[-30:]) / 30 > 0.97 and length < 24:
            length, recent = length + 4 if length > 4 else length + 1, []
        if step % 50 == 49:
            with torch.no_grad():
                bits, parity = batch(200, 24)
                right = ((model(bits) > 0) == (parity > 0)).float().mean().item()
            monitor.log(accuracy_at_24=right, length=length)
    monitor.close()
    assert right > 0.9, right
    return right
