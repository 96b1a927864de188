"""Small networks of every kind the zoo keeps: an MLP, a conv net, a GPT, recurrent ones, an encoder and others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo.data import CHARACTERS


def mlp(sizes: Sequence[int], activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers of these sizes with an activation between them."""
    layers: list[nn.Module] = []
    for width, after in itertools.pairwise(sizes):
        layers += [nn.Linear(width, after), activation()]
    return nn.Sequential(*layers[:-1])


def four_layers() -> nn.Sequential:
    """The network of the comparison with other monitors: 32-256-256-256-8 with ReLU."""
    return mlp([32, 256, 256, 256, 8])


class ConvNet(nn.Module):
    """Two convolutions with BatchNorm on 8 by 8 images, dropout, and a linear head."""

    def __init__(self, classes: int = 10, dropout: float = 0.2, momentum: float = 0.1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.BatchNorm2d(12, momentum=momentum),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.BatchNorm2d(24, momentum=momentum),
            nn.ReLU(),
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(24 * 16, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.dropout(self.features(x).flatten(1)))


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width: int, heads: int, causal: bool = True) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int, causal: bool = True) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """A small GPT over characters."""

    def __init__(self, width: int = 48, layers: int = 2, heads: int = 4, context: int = 32, causal: bool = True):
        super().__init__()
        self.token = nn.Embedding(len(CHARACTERS), width)
        self.position = nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads, causal) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(CHARACTERS))
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.token(x) + self.position[: x.shape[1]]
        return self.head(self.norm(self.blocks(hidden)))


class Recurrent(nn.Module):
    """Characters through an LSTM, a GRU or a plain recurrent network."""

    def __init__(self, cell: Callable[..., nn.Module] = nn.LSTM, width: int = 64) -> None:
        super().__init__()
        self.token = nn.Embedding(len(CHARACTERS), width)
        self.cell = cell(width, width, batch_first=True)
        self.head = nn.Linear(width, len(CHARACTERS))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cell(self.token(x))[0])


class Encoder(nn.Module):
    """A small vision transformer: 16 patches of 2 by 2 pixels, torch's own encoder layers, the mean as a summary."""

    def __init__(self, width: int = 32, layers: int = 2, heads: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 2, stride=2)
        self.position = nn.Parameter(0.02 * torch.randn(16, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.patch(x).flatten(2).transpose(1, 2) + self.position
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(self.norm(hidden).mean(1))


def autoencoder(width: int = 16) -> nn.Sequential:
    """64 pixels through a narrow middle and back."""
    return mlp([64, 64, width, 64, 64])


class GAN(nn.Module):
    """A generator of digits from noise, and the critic it plays against."""

    def __init__(self, noise: int = 16) -> None:
        super().__init__()
        self.noise = noise
        self.generator = nn.Sequential(nn.Linear(noise, 64), nn.ReLU(), nn.Linear(64, 64), nn.Sigmoid())
        self.critic = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def fakes(self, count: int) -> Tensor:
        return self.generator(torch.randn(count, self.noise))
