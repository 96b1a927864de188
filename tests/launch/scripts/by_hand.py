"""Linear regression with two bare tensors: no module at all."""

import sys

import torch

torch.manual_seed(0)
true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X = torch.randn(1000, 2)
y = X @ true_w + true_b + 0.01 * torch.randn(1000)
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
trainer = torch.optim.SGD([w, b], lr=0.03)
for epoch in range(4):
    for idx in torch.randperm(1000).split(20):
        l = ((X[idx] @ w + b - y[idx].reshape(-1, 1)) ** 2 / 2).mean()
        trainer.zero_grad()
        l.backward()
        trainer.step()
    print(f"epoch {epoch + 1}, loss {float(((X @ w + b - y.reshape(-1, 1)) ** 2 / 2).mean()):f}")
torch.save([w, b], sys.argv[1])
