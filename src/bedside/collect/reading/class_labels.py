"""Where a loss over classes asks one answer of each sample: which samples, and which classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bedside.collect.reading.graph_values import kept_as

MAX_CLASSES = 256  # with more, each is seen too seldom to tell
CLASSES = ("cross_entropy", "nll_loss")
BITS = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def class_labels(function: str, prediction: Tensor, target: Any) -> tuple[Tensor | None, int]:
    """One class per example, and how many classes there are; None where the target is something else."""
    if not isinstance(target, Tensor):
        return None, 0
    if function in CLASSES and target.dim() == 1 and prediction.dim() == 2 and not target.is_floating_point():
        return (target.detach(), prediction.shape[1]) if prediction.shape[1] <= MAX_CLASSES else (None, 0)
    if function in BITS and target.numel() == len(target) and target.dim() <= 2:
        flat = target.detach().reshape(-1)
        return torch.where((flat == 0) | (flat == 1), flat, -1), 2
    return None, 0


def chosen_rows(prediction: Tensor) -> Tensor | None:
    """The samples that a masked loss picks from the outputs: `cross_entropy(out[mask], labels[mask])`."""
    node = prediction.grad_fn
    name = "" if node is None else node.name()
    indices = kept_as(node, "indices") if name == "IndexBackward0" else None
    if indices is not None and len(indices) == 1 and (chosen := indices[0]) is not None:
        waits = chosen.dtype is torch.bool and not chosen.is_cpu  # for the device, to count how many are chosen
        return None if waits else chosen.detach()
    index = kept_as(node, "index") if name == "IndexSelectBackward0" and node._saved_dim == 0 else None
    return None if index is None else index.detach()
