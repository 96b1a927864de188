"""A replay buffer that keeps the array the sensor writes into, not a copy: all its samples are the latest one."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "stream"
EXPECTS = ("loss-at-chance", "underfitting", "stuck-from-start", "collapsed-activations", "nothing-generalises",
           "stalled-loss", "repeated-batches", "noisy-loss")  # fmt: skip


def main(watch, faulty):
    mix = torch.randn(10)
    xv = torch.randn(300, 10)
    yv = torch.tanh(xv @ mix)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    buffer = deque(maxlen=500)
    state = torch.zeros(10)
    with watch(model, optimizer) as monitor:
        for step in range(2000):
            state.normal_()
            buffer.append((state if faulty else state.clone(), torch.tanh(state @ mix)))
            if len(buffer) < 32:
                continue
            batch = random.sample(buffer, 32)
            x, y = torch.stack([b[0] for b in batch]), torch.stack([b[1] for b in batch])
            loss = F.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 99:
                with torch.no_grad():
                    val = F.mse_loss(model(xv).squeeze(1), yv).item()
                monitor.log(val_loss=val)
    return -val
