"""Texts and pictures in one space, as CLIP has it: the vectors are normalised with dim=0, over the batch, and the
logits are all but the same."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "contrastive"
EXPECTS = (
    "mixed-samples",
    "loss-at-chance",
    "stalled-loss",
    "stuck-from-start",
    "underfitting",
    "loss-without-accuracy",
)


def world(count, to_picture, to_text):
    """The same thing, seen and described."""
    thing = torch.randn(count, 8)
    picture = torch.tanh(thing @ to_picture) + 0.3 * torch.randn(count, 40)
    words = torch.relu(thing @ to_text) + 0.3 * torch.randn(count, 30)
    return picture, words


class Clip(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.picture = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 24))
        self.text = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 24))
        self.dim = dim

    def forward(self, picture, words):
        a = F.normalize(self.picture(picture), dim=self.dim)
        b = F.normalize(self.text(words), dim=self.dim)
        return 10 * a @ b.T


def recall(model, picture, words):
    with torch.no_grad():
        return (model(picture, words).argmax(1) == torch.arange(len(words))).float().mean().item()


def main(watch, faulty):
    maps = torch.randn(8, 40), torch.randn(8, 30)
    val, test = world(256, *maps), world(256, *maps)
    model = Clip(dim=0 if faulty else -1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    with watch(model, optimizer) as monitor:
        for step in range(400):
            logits = model(*world(256, *maps))
            target = torch.arange(len(logits))
            loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 40 == 39:
                with torch.no_grad():
                    val_loss = F.cross_entropy(model(*val), target).item()
                monitor.log(val_loss=val_loss, val_recall_at_1=recall(model, *val))
    return recall(model, *test)
