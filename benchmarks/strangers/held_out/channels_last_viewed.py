"""Pictures come as height, width, colour and are reshaped, not permuted, into colour, height, width; every filter sees
scrambled stripes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "image"
# No rule can see that a picture was scrambled; what shows is a net that fits and does not generalise.
EXPECTS = ("overfitting", "underfitting", "nothing-generalises", "gap-from-start", "stalled-loss")


def pictures(n, size=16):
    """A coloured cross, ring or bar somewhere on a noisy ground; the label is the shape."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, labels = [], torch.randint(0, 3, (n,))
    for label in labels:
        cy, cx = torch.randint(4, size - 4, (2,))
        dy, dx = (yy - cy).abs(), (xx - cx).abs()
        near = (dy <= 3) & (dx <= 3)
        ring = torch.maximum(dy, dx) == 3
        shape = [((dy == 0) | (dx == 0)) & near, ring, (dy == dx) & near][label].float()
        colour = 0.5 + 0.5 * torch.rand(3)
        images.append(shape[..., None] * colour + 0.5 * torch.randn(size, size, 3))
    return torch.stack(images), labels


class Shapes(Dataset):
    def __init__(self, images, labels, permute):
        self.images, self.labels, self.permute = images, labels, permute

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        image = image.permute(2, 0, 1) if self.permute else image.reshape(3, 16, 16)
        return image, self.labels[i]


class Net(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, c, 3, padding=1),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1),
            nn.BatchNorm2d(2 * c),
            nn.ReLU(),
            nn.Conv2d(2 * c, 2 * c, 3, padding=1),
            nn.BatchNorm2d(2 * c),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(2 * c, 3)

    def forward(self, x):
        return self.fc(self.features(x))


def main(watch, faulty):
    loader = DataLoader(Shapes(*pictures(1000), permute=not faulty), batch_size=32, shuffle=True)
    val_loader = DataLoader(Shapes(*pictures(300), permute=not faulty), batch_size=150)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(7):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        right, losses = 0, []
        with torch.no_grad():
            for x, y in val_loader:
                out = model(x)
                right += (out.argmax(1) == y).sum().item()
                losses.append(F.cross_entropy(out, y).item())
        monitor.log(train_loss=total / len(loader), val_loss=sum(losses) / 2, val_acc=right / 300, epoch=epoch)
    monitor.close()
    return right / 300
