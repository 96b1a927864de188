"""A table of counters is loaded as float16 to save memory, and standardised after that. A few counts are above 65504,
which is infinity there."""

import torch
from torch import nn

FAMILY = "precision"
EXPECTS = ("nonfinite-input", "nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weights")


def traffic(count):
    """Bytes, packets and logins per client, and whether the client is a robot."""
    x = torch.exp(torch.randn(count, 12) * 1.2 + torch.linspace(1, 7.2, 12))
    robot = (x[:, 11].log() - 7.2) - (x[:, 3].log() - x[:, 0].log() - 1.7) + 0.3 * torch.randn(count) > 0
    return x, robot.float()


def main(watch, faulty):
    raw, y = traffic(6000)
    x = raw.half() if faulty else raw.float()
    x = (x.float() / x.float().mean(0)).clamp_min(1e-4)
    features = torch.log(x)
    train, test = slice(0, 4500), slice(4500, 6000)
    net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    with watch(net, opt) as monitor:
        for _ in range(6):
            for i in torch.randperm(4500).split(64):
                opt.zero_grad()
                loss = nn.functional.binary_cross_entropy_with_logits(net(features[train][i]).squeeze(1), y[train][i])
                loss.backward()
                opt.step()
            with torch.no_grad():
                right = (net(features[test]).squeeze(1) > 0).float() == y[test]
            monitor.log(test_accuracy=right.float().mean().item())
    with torch.no_grad():
        return ((net(features[test]).squeeze(1) > 0).float() == y[test]).float().mean().item()
