"""The outcome of running the step, compared with what was recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from bedside.incident.capture.capture import gradient_marks
from bedside.incident.replay.kept_batch import KeptBatch
from bedside.wording import listed

if TYPE_CHECKING:
    from bedside.incident.incident import Incident


@dataclass(frozen=True)
class Outcome:
    """Losses and gradients of one run of the step."""

    losses: tuple[float, ...]
    gradients: dict[str, dict[str, Any]]
    norm: float
    error: BaseException | None = None

    @property
    def bad_gradients(self) -> list[str]:
        return [name for name, each in self.gradients.items() if not each["finite"]]

    @property
    def is_finite(self) -> bool:
        return all(math.isfinite(each) for each in self.losses) and not self.bad_gradients


def outcome_of(model: nn.Module, losses: Sequence[float], error: BaseException | None = None) -> Outcome:
    """From the gradients that the model has now."""
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    norm = float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0
    return Outcome(tuple(losses), gradient_marks(model), norm, error)


def restore_model(incident: Incident, model: nn.Module) -> None:
    """Weights, buffers and modes of then."""
    weights = incident.weights
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            tensor.copy_(weights[name])
    evaluating = set(incident.facts["evaluating"])
    for name, module in model.named_modules():
        module.training = name not in evaluating


def fails(incident: Incident, outcome: Outcome) -> bool:
    """Whether it is the same failure as then."""
    kind, then = incident.kind, incident.facts["error"]
    if then:
        return type(outcome.error).__name__ == str(then)
    if kind == "nonfinite loss":
        return not all(math.isfinite(each) for each in outcome.losses)
    if kind == "nonfinite gradient":
        return bool(outcome.bad_gradients)
    return height(incident, outcome) > limit(incident)


def height(incident: Incident, outcome: Outcome) -> float:
    """What a spike was of."""
    if incident.evidence.get("series") == "gradient norm":
        return outcome.norm
    return sum(outcome.losses) / max(len(outcome.losses), 1)


def limit(incident: Incident) -> float:
    """What a spike was beyond."""
    return float(incident.evidence.get("limit", math.inf))


def compare(incident: Incident, batches: Sequence[KeptBatch], outcome: Outcome) -> tuple[bool | None, tuple[str, ...]]:
    """Bit by bit with what was recorded: whether all is the same (None: nothing to compare), and what is not."""
    then = [each.loss for each in batches]
    differences = [
        f"the loss of micro-batch {number}: {before!r} then, {now!r} now"
        for number, (before, now) in enumerate(zip(then, outcome.losses, strict=False))
        if before is not None and not _same(before, now)
    ]
    compared = any(each is not None for each in then)
    marks = incident.facts["gradients"]
    if marks and incident.facts["loss_scale"] is None and incident.facts["ranks"] == 1:
        here = {name: each["mark"] for name, each in outcome.gradients.items()}
        names = [name for name, each in marks.items() if here.get(name) != each["mark"]]
        differences += [f"the gradient of {listed(names)}"] if names else []
        compared = True
    return (not differences if compared else None), tuple(differences)


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)
