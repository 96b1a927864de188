"""XOR with sigmoids, a squared error and SGD at 0.01: nothing happens in five hundred steps."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("undersized-update", "stuck-from-start", "loss-at-chance", "faded-gradient", "underfitting", "stalled-loss")


def main(watch, faulty):
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    model = nn.Sequential(nn.Linear(2, 4), nn.Sigmoid(), nn.Linear(4, 1), nn.Sigmoid())
    for p in model.parameters():
        nn.init.uniform_(p, -1, 1)
    sgd, adam = torch.optim.SGD(model.parameters(), lr=0.01), torch.optim.Adam(model.parameters(), lr=0.1)
    optimizer = sgd if faulty else adam
    with watch(model, optimizer):
        for _ in range(500):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
    return -loss.item()
