"""Lion, from its paper's page: the sign of an interpolated momentum, with decoupled weight decay."""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                m, (b1, b2) = state["exp_avg"], group["betas"]
                p.add_((m * b1 + p.grad * (1 - b1)).sign_(), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)
        return loss


def main(watch):
    data = load_breast_cancer()
    X = torch.tensor(data.data, dtype=torch.float32)
    X, y = (X - X.mean(0)) / X.std(0), torch.tensor(data.target, dtype=torch.float32)
    perm = torch.randperm(len(X))
    Xtr, ytr, Xte, yte = X[perm[:450]], y[perm[:450]], X[perm[450:]], y[perm[450:]]
    net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
    loss_fn = nn.BCEWithLogitsLoss()
    opt = Lion(net.parameters(), lr=5e-4, weight_decay=1e-2)
    mon = watch(net, opt)
    for ep in range(20):
        for idx in torch.randperm(450).split(32):
            loss = loss_fn(net(Xtr[idx]).squeeze(1), ytr[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            logits = net(Xte).squeeze(1)
        acc = ((logits > 0).float() == yte).float().mean().item()
        mon.log(validation_loss=loss_fn(logits, yte).item(), validation_accuracy=acc, epoch=ep)
    mon.close()
    assert acc > 0.92
