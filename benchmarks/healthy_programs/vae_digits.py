"""The variational autoencoder of the PyTorch examples: summed BCE and KL, loss divided by the data set for printing."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, 8)
        self.fc22 = nn.Linear(128, 8)
        self.fc3 = nn.Linear(8, 128)
        self.fc4 = nn.Linear(128, 64)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, logvar = self.fc21(h), self.fc22(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x, reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def main(watch):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train_loader, test = DataLoader(x[:1500], batch_size=64, shuffle=True), x[1500:]
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    curve = []
    for epoch in range(1, 16):
        model.train()
        train_loss = 0
        for data in train_loader:
            optimizer.zero_grad()
            recon, mu, logvar = model(data)
            loss = loss_function(recon, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            test_loss = loss_function(*(lambda r: (r[0], test, r[1], r[2]))(model(test))).item() / len(test)
        curve.append(test_loss)
        monitor.log({"epoch": epoch, "train_loss_epoch": train_loss / 1500, "test_loss": test_loss})
    monitor.close()
    assert curve[-1] < 0.85 * curve[0]
