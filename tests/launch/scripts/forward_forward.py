"""The forward-forward algorithm: a loss and an optimizer in every layer, no backward through the net."""

import sys

import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(1234)


class Layer(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.relu = nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.01)
        self.threshold = 2.0

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train_step(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        loss = torch.log(1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = nn.ModuleList([Layer(dims[d], dims[d + 1]) for d in range(len(dims) - 1)])

    def train_all(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for layer in self.layers:
            h_pos, h_neg = layer.train_step(h_pos, h_neg)


net = Net([20, 48, 48])
prototypes = torch.randn(5, 15)
for _ in range(120):
    y = torch.randint(5, (64,))
    x = prototypes[y] + 0.3 * torch.randn(64, 15)
    right, wrong = torch.eye(5)[y], torch.eye(5)[(y + torch.randint(1, 5, (64,))) % 5]
    net.train_all(torch.cat([right, x], 1), torch.cat([wrong, x], 1))
torch.save(net.state_dict(), sys.argv[1])
