"""What a guess that looks at no input costs under a loss: ln K, ln 2, or the variance of the targets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bedside.errors import NotEnough
from bedside.preflight.setup import Setup
from bedside.preflight.torch_calls import OF_CLASSES, Call

VARIANCE = "the variance of the targets"


def chance(calls: Sequence[Call]) -> tuple[float, str]:
    """What a guess that looks at nothing costs, and in which words."""
    call = calls[0]
    options = call.arguments
    if options.get("reduction") != "mean" or options.get("weight") is not None:
        raise NotEnough("a loss that is averaged and not weighted")
    if call.function in OF_CLASSES:
        classes = call.prediction.shape[1 if call.prediction.ndim > 1 else 0]
        return math.log(classes), f"ln {classes:,}"
    if call.function in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        return math.log(2), "ln 2"
    if call.function == "mse_loss":
        return float(targets(calls).var(correction=0)), VARIANCE
    raise NotEnough("a cross-entropy or a squared error")


def guess(setup: Setup) -> float | None:
    """What a blind guess costs under this loss, where that is known."""
    if setup.loss_call is None:
        return None
    try:
        return chance([setup.loss_call])[0]
    except NotEnough:
        return None


def targets(calls: Sequence[Call]) -> Tensor:
    return torch.cat([each.target.detach().flatten().double().cpu() for each in calls])


def prior(calls: Sequence[Call]) -> dict[str, float]:
    """The entropy of the labels: what the best guess that looks at nothing costs."""
    if calls[0].function not in OF_CLASSES or calls[0].target.is_floating_point():
        return {}
    _, counts = torch.unique(targets(calls), return_counts=True)
    shares = counts.double() / counts.sum()
    return {"label_entropy": float(-(shares * shares.log()).sum())}


def blind_loss(known: Sequence[Call], others: Sequence[Call]) -> float:
    """What a guess that knows the targets of `known`, and no input, costs on `others`."""
    chance(known)  # refuses what no guess is known for
    seen, asked = targets(known), targets(others)
    if known[0].function == "mse_loss":
        return float((asked - seen.mean()).square().mean())
    if known[0].function not in OF_CLASSES:
        share = float(seen.mean().clamp(1e-6, 1 - 1e-6))
        return float(-(asked * math.log(share) + (1 - asked) * math.log(1 - share)).mean())
    if known[0].target.is_floating_point():
        raise NotEnough("targets that are class indices")
    ignored = int(known[0].arguments.get("ignore_index", -100))
    seen, asked = (each[each != ignored].long() for each in (seen, asked))
    classes = known[0].prediction.shape[1 if known[0].prediction.ndim > 1 else 0]
    shares = (torch.bincount(seen, minlength=classes).double() + 1) / (len(seen) + classes)
    return float(-shares[asked].log().mean())
