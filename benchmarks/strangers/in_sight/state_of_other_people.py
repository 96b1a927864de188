"""The hidden state is kept from batch to batch although the batches are shuffled: every sequence starts with the
memory of another one."""

import torch
from torch import nn

FAMILY = "recurrent state"
EXPECTS = ("mixed-samples", "stalled-loss", "underfitting")


class Integrator(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.rnn(x, state)
        return self.out(h[:, -1]).squeeze(1), state


def walks(n, length=20):
    """Where does somebody end up who walks with these speeds, and stands still when the light is red?"""
    speed = torch.randn(n, length)
    green = (torch.rand(n, length) < 0.6).float()
    return torch.stack([speed, green], -1), (speed * green).sum(1) / length**0.5


def main(watch, faulty):
    x, y = walks(3200)
    xv, yv = walks(640)
    model = Integrator()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    epochs, batch = 14, 64
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    mse = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            state = None
            for idx in torch.randperm(len(x)).split(batch):
                if not faulty:
                    state = None
                pred, state = model(x[idx], state)
                state = state.detach()
                loss = mse(pred, y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            preds, state = [], None
            with torch.no_grad():
                for xb in xv.split(batch):
                    if not faulty:
                        state = None
                    pred, state = model(xb, state)
                    preds.append(pred)
            val = mse(torch.cat(preds), yv).item()
            monitor.log(epoch=epoch, val_loss=val)
    return 1 - val / yv.var().item()
