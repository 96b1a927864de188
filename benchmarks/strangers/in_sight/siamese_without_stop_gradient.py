"""Self-supervised twins that are pulled together with no negatives, no predictor and no stop-gradient: the loss is
perfect as soon as everything has the same representation."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "self-supervised"
EXPECTS = ("collapsed-activations", "suspiciously-perfect", "worsening-metric", "loss-without-accuracy")


def view(x):
    return (x + 0.25 * torch.randn_like(x)) * (torch.rand_like(x) > 0.15)


def probe(encoder, x, y, xt, yt):
    """Accuracy of the nearest neighbours in the representation."""
    encoder.eval()
    with torch.no_grad():
        a, b = F.normalize(encoder(x), dim=1), F.normalize(encoder(xt), dim=1)
    encoder.train()
    return (y[(b @ a.T).topk(5, 1).indices].mode(1).values == yt).float().mean().item()


def main(watch, faulty):
    x, y, xt, yt = digits()
    encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))
    predictor = nn.Identity() if faulty else nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    model = nn.ModuleDict({"encoder": encoder, "predictor": predictor})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            for idx in torch.randperm(len(x)).split(64):
                a, b = encoder(view(x[idx])), encoder(view(x[idx]))
                if faulty:
                    loss = F.mse_loss(a, b)
                else:  # VICReg's way out: keep the spread of every dimension
                    spread = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() for z in (a, b))
                    covariance = sum(
                        ((z - z.mean(0)).T @ (z - z.mean(0)) / 63).fill_diagonal_(0).pow(2).sum() for z in (a, b)
                    )
                    loss = F.mse_loss(predictor(a), b) + spread + covariance / 32 / 25
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            monitor.log(knn_accuracy=probe(encoder, x, y, xt, yt))
    return probe(encoder, x, y, xt, yt)
