"""The class labels of the first batches."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bedside.preflight.setup import Setup
from bedside.preflight.torch_calls import Call


def targets_of(setup: Setup, call: Call) -> Iterator[Tensor]:
    """What a loss function was given as targets, and those of the later batches where it is certain how they come out
    of a batch."""
    yield call.target.flatten().cpu()
    own = setup.loss.target(setup.first.batch)
    if (
        isinstance(own, Tensor)
        and own.numel() == call.target.numel()
        and bool((own.flatten() == call.target.flatten()).all())
    ):
        for batch in setup.batches[1:]:
            if isinstance(target := setup.loss.target(batch), Tensor):
                yield target.flatten().cpu()


def labels_of(setup: Setup, call: Call) -> Tensor:
    """All labels that count, without the one that the loss leaves out."""
    every = torch.cat(list(targets_of(setup, call)))
    return every[every != int(call.arguments.get("ignore_index", -100))]
