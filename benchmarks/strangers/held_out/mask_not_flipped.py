"""Segmentation with random flips: the image is flipped, its mask is not."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "segmentation"
EXPECTS = ("underfitting", "stalled-loss", "loss-without-accuracy", "loss-at-chance")


def draw(n, generator):
    size = 24
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, masks = [], []
    for _ in range(n):
        cy, cx = torch.randint(4, size - 4, (2,), generator=generator)
        r = torch.randint(3, 6, (1,), generator=generator)
        disk = ((yy - cy) ** 2 + (xx - cx) ** 2 <= r**2).float()
        shade = 0.4 + 0.4 * torch.rand(1, generator=generator)
        images.append(disk * shade + 0.25 * torch.randn(size, size, generator=generator))
        masks.append(disk)
    return torch.stack(images)[:, None], torch.stack(masks)[:, None]


class Shapes(Dataset):
    def __init__(self, images, masks, augment, flip_mask=True):
        self.images, self.masks, self.augment, self.flip_mask = images, masks, augment, flip_mask

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.augment:
            for dim in (-1, -2):
                if torch.rand(1) < 0.5:
                    image = image.flip(dim)
                    if self.flip_mask:
                        mask = mask.flip(dim)
        return image, mask


class TinyUNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1, stride=2), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down1(x)
        return self.out(torch.cat([a, self.up(self.down2(a))], 1))


def main(watch, faulty):
    g = torch.Generator().manual_seed(3)
    train = Shapes(*draw(480, g), augment=True, flip_mask=not faulty)
    val = Shapes(*draw(120, g), augment=False)
    loader, val_loader = DataLoader(train, batch_size=16, shuffle=True), DataLoader(val, batch_size=60)
    model = TinyUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            model.train()
            for image, mask in loader:
                loss = F.binary_cross_entropy_with_logits(model(image), mask)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            losses, inter, union = [], 0.0, 0.0
            with torch.no_grad():
                for image, mask in val_loader:
                    out = model(image)
                    losses.append(F.binary_cross_entropy_with_logits(out, mask).item())
                    hard = (out > 0).float()
                    inter += (hard * mask).sum().item()
                    union += ((hard + mask) > 0).float().sum().item()
            iou = inter / max(union, 1.0)
            monitor.log(val_loss=sum(losses) / len(losses), val_iou=iou, epoch=epoch)
    return iou
