"""Two heads on one trunk: the regression head is trained on raw prices in thousands, so its squared error is all that
the trunk ever hears of."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "multi-task"
EXPECTS = ("unbalanced-loss-parts", "dominant-module", "gradient-always-clipped", "underfitting", "undersized-update")


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.kind, self.price = nn.Linear(64, 6), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.price(h).squeeze(1)


def main(watch, faulty):
    x, kind = make_classification(
        3000, 20, n_informative=10, n_classes=6, n_clusters_per_class=2, class_sep=1.4, random_state=3
    )
    x, kind = torch.tensor(x, dtype=torch.float32), torch.tensor(kind)
    x = (x - x.mean(0)) / x.std(0)
    price = 240.0 + 60.0 * x[:, 1] + 45.0 * x[:, 3] * x[:, 5] + 10 * torch.randn(len(x))
    if not faulty:
        price = (price - price.mean()) / price.std()
    loader = DataLoader(TensorDataset(x[:2500], kind[:2500], price[:2500]), batch_size=50, shuffle=True)
    model = TwoHeads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        model.train()
        for xb, kb, pb in loader:
            logits, value = model(xb)
            loss = F.cross_entropy(logits, kb) + F.mse_loss(value, pb)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            logits, value = model(x[2500:])
            acc = (logits.argmax(1) == kind[2500:]).float().mean().item()
            mse = F.mse_loss(value, price[2500:])
        monitor.log(
            val_acc=acc, val_mse=mse.item(), val_loss=(F.cross_entropy(logits, kind[2500:]) + mse).item(), epoch=epoch
        )
    monitor.close()
    return acc
