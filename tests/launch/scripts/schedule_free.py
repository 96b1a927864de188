"""Schedule-free SGD: the optimizer itself has train() and eval(), and keeps averaged weights."""

import sys

import torch
from torch import nn
from torch.optim import Optimizer


class SGDScheduleFree(Optimizer):
    def __init__(self, params, lr=1.0, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta, "k": 0, "train_mode": True})

    @torch.no_grad()
    def swap(self, weight):
        for group in self.param_groups:
            for p in group["params"]:
                if "z" in self.state[p]:
                    p.lerp_(self.state[p]["z"], weight=weight(group["beta"]))

    def eval(self):
        self.swap(lambda beta: 1 - 1 / beta)

    def train(self):
        self.swap(lambda beta: 1 - beta)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["k"] += 1
            c = 1 / group["k"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "z" not in state:
                    state["z"] = p.clone()
                z = state["z"]
                p.lerp_(z, weight=c)
                p.add_(p.grad, alpha=group["lr"] * (group["beta"] * (1 - c) - 1))
                z.sub_(p.grad, alpha=group["lr"])


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = SGDScheduleFree(model.parameters(), lr=0.1)
w = torch.randn(10, 1)
test = torch.randn(100, 10)
for epoch in range(8):
    model.train()
    optimizer.train()
    for _ in range(25):
        x = torch.randn(32, 10)
        loss = nn.functional.mse_loss(model(x), x @ w + 0.2 * torch.randn(32, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    optimizer.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(test), test @ w).item())
torch.save(model.state_dict(), sys.argv[1])
