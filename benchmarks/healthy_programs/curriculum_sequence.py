"""A curriculum: add numbers in sequences of length 4, then 8, then 16; the loss jumps at each change, by design."""

import torch
import torch.nn.functional as F
from torch import nn


class Summer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(1, 32, batch_first=True), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def main(watch):
    model = Summer()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, optimizer)
    for length in (4, 8, 16):
        for step in range(300):
            x = torch.randint(0, 2, (64, length, 1)).float()
            loss = F.mse_loss(model(x), x.sum((1, 2)))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x = torch.randint(0, 2, (500, 16, 1)).float()
                    mae = (model(x) - x.sum((1, 2))).abs().mean().item()
                monitor.log(mae_at_length_16=mae)
    monitor.close()
    assert mae < 0.8
