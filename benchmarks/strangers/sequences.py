"""Sequence data that the faulty programs share: sentences, tags, reviews, series, speech, ratings."""

from __future__ import annotations

import math

import torch
from torch import Tensor

PAD = 0


def padded(rows: list[list[int]], length: int, fill: int = PAD) -> Tensor:
    """Rows of different length as one tensor, filled up on the right."""
    return torch.tensor([row + [fill] * (length - len(row)) for row in rows])


def tagged(count: int, length: int = 20, words: int = 60, tags: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Sentences, their tags (-100 behind the end) and lengths; a tag depends on the word and the word before it."""
    lengths = torch.randint(length // 2, length + 1, (count,))
    x = torch.randint(1, words, (count, length))
    before = torch.cat([torch.zeros(count, 1, dtype=torch.long), x[:, :-1]], 1)
    y = torch.where(before % 3 == 0, x % tags, (x // 2 + 1) % tags)
    behind = torch.arange(length) >= lengths[:, None]
    return x.masked_fill(behind, PAD), y.masked_fill(behind, -100), lengths


def reviews(
    count: int, length: int = 40, words: int = 200, longest: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Texts with good words (1 to 20) and bad words (21 to 40) among neutral ones; the label is which are more."""
    lengths = torch.randint(8, (longest or length) + 1, (count,))
    y = torch.randint(0, 2, (count,))
    x = torch.randint(41, words, (count, length))
    mood = torch.where(torch.rand(count, length) < 0.75, y[:, None], 1 - y[:, None]) * 20 + torch.randint(
        1, 21, (count, length)
    )
    x = torch.where(torch.rand(count, length) < 0.3, mood, x)
    return x.masked_fill(torch.arange(length) >= lengths[:, None], PAD), y, lengths


def series(length: int = 3000) -> Tensor:
    """An hourly load: two seasons, a slow drift and noise that remembers."""
    t, noise = torch.arange(length).float(), torch.zeros(length)
    for i, kick in enumerate(torch.randn(length - 1)):
        noise[i + 1] = 0.8 * noise[i] + 0.2 * kick
    day, week = torch.sin(2 * math.pi * t / 24), torch.sin(2 * math.pi * t / 168)
    return day + 0.5 * week + 0.3 * torch.sin(t / 400) + noise


def speech(count: int, symbols: int = 8, said: int = 6, frames: int = 36) -> tuple[Tensor, Tensor]:
    """Utterances: each symbol (1 to `symbols`) is a few frames of its own spectrum; and what was said."""
    spectra = torch.randn(symbols + 1, 12, generator=torch.Generator().manual_seed(5))
    spectra[0] = 0
    y = torch.randint(1, symbols + 1, (count, said))
    each = frames // said
    x = torch.zeros(count, frames, 12)
    for k in range(said):
        x[:, k * each + 1 : (k + 1) * each - 1] = spectra[y[:, k]][:, None]
    return x + 0.4 * torch.randn_like(x), y


def ratings(users: int = 200, items: int = 150, count: int = 12000) -> tuple[Tensor, Tensor, Tensor]:
    """Who rated what how: stars from 1 to 5 out of tastes of three dimensions."""
    taste, kind = torch.randn(users, 3), torch.randn(items, 3)
    bias = 0.5 * torch.randn(items)
    u, i = torch.randint(0, users, (count,)), (torch.rand(count) ** 2 * items).long()
    stars = 3.3 + bias[i] + 0.7 * (taste[u] * kind[i]).sum(1) + 0.3 * torch.randn(count)
    return u, i, stars.clamp(1, 5)
