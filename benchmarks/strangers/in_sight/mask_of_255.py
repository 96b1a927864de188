"""The masks were saved as pictures with 0 and 255 and go into the binary cross entropy without being divided."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "segmentation"
EXPECTS = ("unreachable-target", "unbounded-negative-loss", "runaway-weights", "growing-activations")


class Blobs(Dataset):
    """Grey pictures with bright ellipses, and where they are."""

    def __init__(self, n, rng, scale):
        yy, xx = np.mgrid[0:16, 0:16]
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((16, 16), dtype=np.uint8)
            for _ in range(rng.integers(1, 3)):
                cy, cx = rng.uniform(3, 13, 2)
                a, b = rng.uniform(2, 4, 2)
                mask[((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1] = 255
            image = 90 + 60 * (mask > 0) + 25 * rng.standard_normal((16, 16))
            self.images.append(np.clip(image, 0, 255).astype(np.uint8))
            self.masks.append(mask)
        self.scale = scale

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = (torch.from_numpy(self.images[i]).float()[None] / 255 - 0.42) / 0.15
        mask = torch.from_numpy(self.masks[i]).float()[None] / self.scale
        return image, mask


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2)
        )
        self.up = nn.Sequential(nn.Conv2d(3 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        skip = self.down(x)
        return self.up(torch.cat([skip, self.mid(skip)], 1))


def main(watch, faulty):
    rng = np.random.default_rng(np.random.randint(1 << 30))
    scale = 1.0 if faulty else 255.0
    train = DataLoader(Blobs(800, rng, scale), batch_size=20, shuffle=True)
    val = DataLoader(Blobs(150, rng, scale), batch_size=50)
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    criterion = nn.BCEWithLogitsLoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(8):
            model.train()
            for image, mask in train:
                optimizer.zero_grad()
                loss = criterion(model(image), mask)
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            inter = union = total = 0.0
            with torch.no_grad():
                for image, mask in val:
                    out = model(image)
                    total += criterion(out, mask).item() / len(val)
                    pred, real = out > 0, mask > 0
                    inter += (pred & real).sum().item()
                    union += (pred | real).sum().item()
            monitor.log(epoch=epoch, val_loss=total, val_iou=inter / max(union, 1))
    return inter / max(union, 1)
