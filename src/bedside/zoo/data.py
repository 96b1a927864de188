"""Real data that comes with packages: scikit-learn's bundled sets, and the documentation text of Python itself.

A Task is a training and a validation part, and batches of the training part in an order of its own generator, so
that a specimen's data order does not depend on how many random numbers its model drew.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

CHARACTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;'\"()[]{}<>=+-*/_`#%&@!?|\\~^$"


@dataclass(frozen=True)
class Task:
    """Inputs and targets to learn from, and held-out ones."""

    x: Tensor
    y: Tensor
    x_val: Tensor
    y_val: Tensor
    seed: int = 0
    shuffle: bool = True
    _order: torch.Generator = field(default_factory=torch.Generator, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.x)

    def epoch(self, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """All training examples once, in batches of at most `batch`; what fills none is left for another epoch."""
        batch = min(batch, len(self.x))
        order = torch.randperm(len(self.x), generator=self._order) if self.shuffle else torch.arange(len(self.x))
        for start in range(0, len(self.x) - batch + 1, batch):
            chosen = order[start : start + batch]
            yield self.x[chosen], self.y[chosen]

    def batches(self, steps: int, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """`steps` batches, over as many epochs as that takes."""
        done = 0
        while done < steps:
            for pair in self.epoch(batch):
                yield pair
                done += 1
                if done == steps:
                    return

    def first(self, examples: int) -> Task:
        """The same task with only this many training examples."""
        return replace(self, x=self.x[:examples], y=self.y[:examples])

    def with_(self, **changes: object) -> Task:
        return replace(self, **changes)  # type: ignore[arg-type]


def _split(x: Tensor, y: Tensor, seed: int, held_out: float = 0.2) -> Task:
    chosen = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(x), generator=chosen)
    cut = int(len(x) * (1 - held_out))
    train, val = order[:cut], order[cut:]
    return Task(x[train], y[train], x[val], y[val], seed, _order=torch.Generator().manual_seed(seed + 1))


@functools.cache
def _bundled(name: str) -> tuple[Tensor, Tensor]:
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    return torch.tensor(loaded.data, dtype=torch.float32), torch.tensor(loaded.target)


def digits(seed: int) -> Task:
    """1,797 handwritten digits of 8 by 8 pixels, 64 numbers between 0 and 1; ten classes."""
    x, y = _bundled("digits")
    return _split(x / 16, y, seed)


def images(seed: int) -> Task:
    """The digits as images with one channel, centred: (1, 8, 8)."""
    x, y = _bundled("digits")
    return _split((x.reshape(-1, 1, 8, 8) - 4.9) / 6.0, y, seed)  # their mean and standard deviation


def wine(seed: int, *, standardised: bool = True) -> Task:
    """178 wines by 13 measurements on scales from 0.1 to 1,700; three classes."""
    x, y = _bundled("wine")
    return _split((x - x.mean(0)) / x.std(0) if standardised else x, y, seed)


def tumours(seed: int) -> Task:
    """569 tumours by 30 measurements, standardised; two classes."""
    x, y = _bundled("breast_cancer")
    return _split((x - x.mean(0)) / x.std(0), y, seed)


def diabetes(seed: int) -> Task:
    """442 patients by ten measurements; the progress of the disease, standardised, as one number each."""
    x, y = _bundled("diabetes")
    y = y.float()
    return _split(x / x.std(0), (y - y.mean()) / y.std(), seed)


def products(seed: int, examples: int = 3000) -> Task:
    """The product of two of eight numbers beside the sine of a third: nothing that a straight line could tell."""
    chosen = torch.Generator().manual_seed(seed + 2000)
    x = torch.randn(examples, 8, generator=chosen)
    y = x[:, 0] * x[:, 1] + torch.sin(3 * x[:, 2]) + 0.1 * torch.randn(examples, generator=chosen)
    return _split(x, y[:, None], seed)


def clusters(seed: int, examples: int = 16000) -> Task:
    """Eight classes from 32 features: what a small random network would answer, so that it can be learned."""
    chosen = torch.Generator().manual_seed(seed + 1000)
    x = torch.randn(examples, 32, generator=chosen)
    hidden = torch.tanh(x @ torch.randn(32, 16, generator=chosen) / 8)
    return _split(x, (hidden @ torch.randn(16, 8, generator=chosen)).argmax(1), seed)


@functools.lru_cache(maxsize=1)
def _text() -> Tensor:
    from pydoc_data.topics import topics

    known = {character: number for number, character in enumerate(CHARACTERS)}
    whole = "\n".join(topics[name] for name in sorted(topics))[:400_000].lower()
    return torch.tensor([known[character] for character in whole if character in known])


def text(seed: int, context: int = 32) -> Task:
    """Python's own documentation, character by character: predict each next one. 6,000 pieces of `context`."""
    symbols = _text()
    chosen = torch.Generator().manual_seed(seed)
    cut = int(len(symbols) * 0.9)
    starts = torch.randint(0, cut - context - 1, (6000,), generator=chosen)
    held_out = torch.randint(cut, len(symbols) - context - 1, (200,), generator=chosen)

    def pieces(at: Tensor) -> Tensor:
        return symbols[at[:, None] + torch.arange(context + 1)]

    train, val = pieces(starts), pieces(held_out)
    order = torch.Generator().manual_seed(seed + 1)
    return Task(train[:, :-1], train[:, 1:], val[:, :-1], val[:, 1:], seed, _order=order)
