"""LBFGS with a closure, in double precision, on whole sequences at once."""

import sys

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, x):
        outputs = []
        h_t = torch.zeros(x.size(0), 12, dtype=torch.double)
        c_t = torch.zeros(x.size(0), 12, dtype=torch.double)
        for input_t in x.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            outputs.append(self.linear(h_t))
        return torch.cat(outputs, dim=1)


data = torch.sin(torch.arange(24, dtype=torch.double)[None] / 3 + torch.rand(8, 1, dtype=torch.double) * 6)
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.5)
for i in range(12):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(data[2:, :-1]), data[2:, 1:])
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        print("STEP:", i, "test loss:", criterion(seq(data[:2, :-1]), data[:2, 1:]).item())
torch.save(seq.state_dict(), sys.argv[1])
