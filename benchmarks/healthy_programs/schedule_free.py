"""Schedule-free SGD (Defazio et al.): the optimizer keeps three sequences, and has train() and eval() of its own."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class ScheduleFreeSGD(torch.optim.Optimizer):
    def __init__(self, params, lr=1.0, beta=0.9, warmup=20):
        super().__init__(params, dict(lr=lr, beta=beta, warmup=warmup, k=0, training=True))

    def _move(self, weight, training):
        for g in self.param_groups:
            if g["training"] != training:
                for p in g["params"]:
                    if "z" in self.state[p]:
                        p.data.lerp_(self.state[p]["z"], weight(g["beta"]))
                g["training"] = training

    def train(self):
        self._move(lambda b: 1 - b, True)

    def eval(self):
        self._move(lambda b: 1 - 1 / b, False)

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            g["k"] += 1
            lr = g["lr"] * min(1, g["k"] / g["warmup"])
            c = 1 / g["k"]
            for p in g["params"]:
                state = self.state[p]
                if "z" not in state:
                    state["z"] = p.clone()
                p.lerp_(state["z"], c)
                p.add_(p.grad, alpha=lr * (g["beta"] * (1 - c) - 1))
                state["z"].sub_(p.grad, alpha=lr)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = ScheduleFreeSGD(model.parameters(), lr=0.5)
    monitor = watch(model, optimizer)
    for _ in range(12):
        model.train()
        optimizer.train()
        for idx in torch.randperm(1400).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(X[idx]), y[idx]).backward()
            optimizer.step()
        model.eval()
        optimizer.eval()
        with torch.no_grad():
            out = model(X[1400:])
        acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc)
    monitor.close()
    assert acc > 0.85
