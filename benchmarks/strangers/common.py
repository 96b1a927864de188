"""Data and small pieces that the faulty programs share; everything else is in the program itself."""

from __future__ import annotations

import argparse
import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def digits(flat: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training and test part of scikit-learn's 8 by 8 digits, between 0 and 1."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    inputs, labels = torch.tensor(x, dtype=torch.float32)[order] / 16, torch.tensor(y)[order]
    inputs = inputs if flat else inputs.view(-1, 1, 8, 8)
    return inputs[:1400], labels[:1400], inputs[1400:], labels[1400:]


@functools.cache
def text() -> tuple[Tensor, int]:
    """A Python module as character ids, and how many different characters there are."""
    with open(argparse.__file__, encoding="utf-8") as file:
        characters = file.read()
    known = {c: i for i, c in enumerate(sorted(set(characters)))}
    return torch.tensor([known[c] for c in characters]), len(known)


def windows(ids: Tensor, batch: int, length: int) -> tuple[Tensor, Tensor]:
    """Random windows of text, and the same windows one character later."""
    at = torch.randint(0, len(ids) - length - 1, (batch,))
    return torch.stack([ids[i : i + length] for i in at]), torch.stack([ids[i + 1 : i + 1 + length] for i in at])


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Test loss and accuracy of a classifier, in evaluation mode and without gradients; the mode is put back."""
    mode = model.training
    model.eval()
    with torch.no_grad():
        out = model(x)
    model.train(mode)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def fit(watch: Any, model: nn.Module, optimizer: Any, data: Any, epochs: int, batch: int = 64) -> float:
    """The ordinary loop of a classifier, for programs whose fault lies elsewhere. Returns the test accuracy."""
    x, y, xt, yt = data
    with watch(model, optimizer) as monitor:
        for _ in range(epochs):
            for idx in torch.randperm(len(x)).split(batch):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
