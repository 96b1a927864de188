"""A LayerNorm follows every linear layer, also the last one with its single output: norm of one number is zero, and
the answer is the same for all."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_regression
from torch import nn

FAMILY = "architecture"
EXPECTS = ("collapsed-activations", "dead-layer", "stuck-from-start", "loss-at-chance", "stalled-loss", "underfitting")


def mlp(dims, norm_last):
    modules = []
    for i in range(len(dims) - 1):
        modules.append(nn.Linear(dims[i], dims[i + 1]))
        is_last = i == len(dims) - 2
        if not is_last or norm_last:
            modules.append(nn.LayerNorm(dims[i + 1]))
        if not is_last:
            modules.append(nn.LeakyReLU(0.1))
    return nn.Sequential(*modules)


def main(watch, faulty):
    x, y = make_regression(4000, 20, n_informative=12, noise=25.0, random_state=5)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    y = (y - y.mean()) / y.std()
    y = torch.tanh(y) + 0.2 * x[:, 0] * x[:, 1]
    train, test = slice(0, 3400), slice(3400, None)
    net = mlp([20, 64, 64, 1], norm_last=faulty)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 5, 0.4)
    xs, ys = x[train], y[train]
    with watch(net, opt) as monitor:
        for epoch in range(18):
            net.train()
            total = 0.0
            for idx in torch.randperm(len(xs)).split(68):
                opt.zero_grad()
                loss = F.mse_loss(net(xs[idx]).view(-1), ys[idx])
                loss.backward()
                opt.step()
                total += loss.item() * len(idx)
            sched.step()
            net.eval()
            with torch.no_grad():
                val = F.mse_loss(net(x[test]).view(-1), y[test]).item()
            monitor.log(epoch=epoch, train_loss=total / len(xs), val_loss=val)
    return 1 - val / y[test].var().item()
