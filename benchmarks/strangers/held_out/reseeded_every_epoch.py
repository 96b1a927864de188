"""The seed is set inside the epoch loop, so the stream of random pictures starts again: the same six batches for
ever."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "random streams"
EXPECTS = ("repeated-batches", "overfitting", "gap-from-start", "overconfident")


def render(n):
    """Noisy 12x12 pictures of a bar, a cross, a ring or a block somewhere."""
    kind = torch.randint(0, 4, (n,))
    glyph = torch.zeros(4, 5, 5)
    glyph[0, 2] = 1
    glyph[1, 2], glyph[1, :, 2] = 1, 1
    glyph[2] = 1
    glyph[2, 1:4, 1:4] = 0
    glyph[3, 1:4, 1:4] = 1
    x = torch.zeros(n, 1, 12, 12)
    for k in range(n):
        r, c = torch.randint(0, 8, (2,)).tolist()
        x[k, 0, r : r + 5, c : c + 5] += glyph[kind[k]]
    return x + 0.25 * torch.randn_like(x), kind


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def main(watch, faulty):
    test_x, test_y = render(600)
    val_x, val_y = render(400)
    net = SmallNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    seed = int(torch.randint(0, 10000, ()))
    torch.manual_seed(seed)
    with watch(net, optimizer) as monitor:
        for epoch in range(70):
            if faulty:
                torch.manual_seed(seed)
            for _ in range(6):
                x, y = render(32)
                loss = F.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            for g in optimizer.param_groups:
                g["lr"] = 3e-3 * (1 - epoch / 70)
            with torch.no_grad():
                out = net(val_x)
            monitor.log(
                val_loss=F.cross_entropy(out, val_y).item(), val_acc=(out.argmax(1) == val_y).float().mean().item()
            )
    with torch.no_grad():
        return (net(test_x).argmax(1) == test_y).float().mean().item()
