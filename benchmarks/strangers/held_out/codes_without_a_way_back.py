"""A VQ-VAE without the straight-through estimator: nothing flows from the decoder back to the encoder."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "generative"
EXPECTS = ("silent-parameter", "dead-layer", "collapsed-reconstruction", "collapsed-activations", "stalled-loss")


class VQ(nn.Module):
    def __init__(self, straight):
        super().__init__()
        self.straight = straight
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 8 * 4))
        self.codebook = nn.Embedding(32, 4)
        self.decoder = nn.Sequential(nn.Linear(8 * 4, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        z = self.encoder(x).view(-1, 8, 4)
        codes = torch.cdist(z.reshape(-1, 4), self.codebook.weight).argmin(1)
        q = self.codebook(codes).view_as(z)
        pull = F.mse_loss(q, z.detach())
        if self.straight:
            pull = pull + 0.25 * F.mse_loss(z, q.detach())
            q = z + (q - z).detach()
        return self.decoder(q.flatten(1)), pull


def main(watch, faulty):
    x, _, xt, _ = digits()
    model = VQ(straight=not faulty)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt):
        for _ in range(50):
            for idx in torch.randperm(len(x)).split(64):
                out, pull = model(x[idx])
                loss = F.mse_loss(out, x[idx]) + pull
                opt.zero_grad()
                loss.backward()
                opt.step()
        with torch.no_grad():
            error = F.mse_loss(model(xt)[0], xt).item()
    return -error
