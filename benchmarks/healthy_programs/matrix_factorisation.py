"""A recommender of user and film embeddings with sparse gradients: most rows are untouched in most steps."""

import torch
import torch.nn.functional as F
from torch import nn


class Factors(nn.Module):
    def __init__(self, users, films, k=8):
        super().__init__()
        self.user, self.film = nn.Embedding(users, k, sparse=True), nn.Embedding(films, k, sparse=True)
        self.user_bias, self.film_bias = nn.Embedding(users, 1, sparse=True), nn.Embedding(films, 1, sparse=True)
        for table in (self.user, self.film, self.user_bias, self.film_bias):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, u, f):
        return (self.user(u) * self.film(f)).sum(1) + self.user_bias(u).squeeze(1) + self.film_bias(f).squeeze(1) + 3.5


def main(watch):
    users, films, n = 300, 200, 12000
    taste, kind = torch.randn(users, 3), torch.randn(films, 3)
    u, f = torch.randint(0, users, (n,)), torch.randint(0, films, (n,))
    stars = (3.5 + 0.6 * (taste[u] * kind[f]).sum(1) + 0.2 * torch.randn(n)).clamp(1, 5)
    model = Factors(users, films)
    opt = torch.optim.SparseAdam(list(model.parameters()), lr=5e-3)
    with watch(model, opt) as monitor:
        for _ in range(25):
            for i in torch.randperm(10000).split(200):
                loss = F.mse_loss(model(u[i], f[i]), stars[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                rmse = F.mse_loss(model(u[10000:], f[10000:]), stars[10000:]).sqrt().item()
            monitor.log({"val/rmse": rmse})
    assert rmse < 0.7 * stars.std().item()
