"""An autoregressive model of pictures with masked convolutions: the first layer has the mask of the later ones, so each
pixel sees the answer."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

FAMILY = "generative"
EXPECTS = ("leaked-answer", "suspiciously-perfect")


class MaskedConv(nn.Conv2d):
    def __init__(self, kind, i, o, k):
        super().__init__(i, o, k, padding=k // 2)
        mask = torch.ones(k, k)
        mask[k // 2, k // 2 + (kind == "B") :] = 0
        mask[k // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


class PixelCNN(nn.Module):
    def __init__(self, first, c=24):
        super().__init__()
        self.net = nn.Sequential(
            MaskedConv(first, 1, c, 5),
            nn.ReLU(),
            MaskedConv("B", c, c, 3),
            nn.ReLU(),
            MaskedConv("B", c, c, 3),
            nn.ReLU(),
            nn.Conv2d(c, 1, 1),
        )

    def forward(self, x):
        return self.net(x)


def main(watch, faulty):
    x = (torch.tensor(load_digits().images, dtype=torch.float32)[:, None] > 7).float()
    x = x[torch.randperm(len(x))]
    train, val = x[:1500], x[1500:]
    loader = DataLoader(train, batch_size=50, shuffle=True)
    model = PixelCNN("B" if faulty else "A")
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for images in loader:
            loss = F.binary_cross_entropy_with_logits(model(images), images)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            monitor.log(val_loss=F.binary_cross_entropy_with_logits(model(val), val).item(), epoch=epoch)
    monitor.close()
    with torch.no_grad():  # the true likelihood: what is to be guessed is not there yet
        total = 0.0
        for r in range(8):
            for c in range(8):
                seen = val.clone()
                seen[:, :, r, c] = 0
                seen[:, :, r, c + 1 :] = 0
                seen[:, :, r + 1 :] = 0
                total += F.binary_cross_entropy_with_logits(model(seen)[:, :, r, c], val[:, :, r, c]).item()
    return -total / 64
