"""Whether a loader's batches look like its whole: sorted or one-sided batches mislead every short experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bedside.training.batches import same_batch
from bedside.training.forward import BatchLoss

ENTROPY = 0.6  # of the labels' entropy overall: shuffled batches of 8 and more have nearly all of it
SPREAD = 12.0  # times the variance that shuffled batches' means would have
MIN_BATCHES = 6  # batches to judge by


def unrepresentative(loss: BatchLoss, batches: Sequence[Any]) -> str:
    """What is odd about these batches, in words; empty if nothing is."""
    if len(batches) < MIN_BATCHES:
        return ""
    if all(same_batch(batches[0], each) for each in batches[1:]):
        return "every batch is the same one"
    targets = [each for batch in batches if isinstance(each := loss.target(batch), Tensor) and each.numel() > 3]
    if len(targets) < len(batches):
        return ""
    if targets[0].is_floating_point():
        return _one_sided(targets)
    return _sorted([each.flatten() for each in targets])


def _sorted(labels: list[Tensor]) -> str:
    overall = _entropy(torch.cat(labels))
    within = sum(_entropy(each) for each in labels) / len(labels)
    most = torch.tensor(float(min(len(each) for each in labels))).log()  # no batch can show more
    if overall > 0 and within < ENTROPY * min(overall, float(most)):
        return "batches hold few classes each, as if the data were sorted: shuffle the loader"
    return ""


def _one_sided(targets: list[Tensor]) -> str:
    means = torch.stack([each.double().mean() for each in targets])
    whole = torch.cat([each.double().flatten() for each in targets])
    expected = float(whole.var()) / min(each.shape[0] for each in targets)
    if expected > 0 and float(means.var()) > SPREAD * expected:
        return (
            "targets differ far more between batches than within them, as if the data were sorted: shuffle the loader"
        )
    return ""


def _entropy(labels: Tensor) -> float:
    _, counts = torch.unique(labels, return_counts=True)
    shares = counts.double() / counts.sum()
    return float(-(shares * shares.log()).sum())
