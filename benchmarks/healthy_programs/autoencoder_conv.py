"""A convolutional autoencoder with a bottleneck of eight, mean squared error, ReduceLROnPlateau."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader


class ConvAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(True),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(True), nn.Flatten(), nn.Linear(64, 12),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(12, 64), nn.ReLU(True), nn.Unflatten(1, (16, 2, 2)),
            nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ReLU(True), nn.ConvTranspose2d(8, 1, 2, stride=2), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main(watch):
    x = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    loader, valid = DataLoader(x[:1500], 32, shuffle=True), x[1500:]
    model, criterion = ConvAutoencoder(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3, factor=0.5)
    monitor = watch(model, optimizer)
    curve = []
    for _epoch in range(20):
        for img in loader:
            output = model(img)
            loss = criterion(output, img)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            curve.append(criterion(model(valid), valid).item())
        model.train()
        plateau.step(curve[-1])
        monitor.log(val_mse=curve[-1])
    monitor.close()
    assert curve[-1] < 0.6 * valid.var()
