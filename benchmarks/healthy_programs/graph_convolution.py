"""A graph convolutional network on a stochastic block model with sixty labelled nodes, as in the Planetoid demos."""

import torch
import torch.nn.functional as F
from torch import nn


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1, self.gc2 = nn.Linear(nfeat, nhid), nn.Linear(nhid, nclass)

    def forward(self, x, adj):
        x = F.dropout(F.relu(adj @ self.gc1(x)), 0.5, training=self.training)
        return F.log_softmax(adj @ self.gc2(x), dim=1)


def main(watch):
    n, classes = 300, 3
    labels = torch.arange(n) % classes
    prob = torch.where(labels[:, None] == labels[None], 0.06, 0.008)
    upper = (torch.rand(n, n) < prob).float().triu(1)
    adj = upper + upper.T + torch.eye(n)
    d = adj.sum(1).rsqrt()
    adj = d[:, None] * adj * d[None]
    features = torch.randn(n, 16) + F.one_hot(labels, 16).float() * 1.5
    idx = torch.randperm(n)
    idx_train, idx_val = idx[:60], idx[60:200]
    model = GCN(16, 16, classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    monitor = watch(model, optimizer)
    for epoch in range(150):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss_train = F.nll_loss(output[idx_train], labels[idx_train])
        loss_train.backward()
        optimizer.step()
        if epoch % 5 == 0:
            model.eval()
            with torch.no_grad():
                output = model(features, adj)
            acc_val = (output[idx_val].argmax(1) == labels[idx_val]).float().mean().item()
            monitor.log(loss_val=F.nll_loss(output[idx_val], labels[idx_val]).item(), acc_val=acc_val)
    monitor.close()
    assert acc_val > 0.85
