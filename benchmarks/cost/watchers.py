"""How a way of watching meets the training: before and after each step, like a user's own code in the loop."""

from __future__ import annotations

import importlib
import tempfile
from typing import ClassVar

import torch
from torch import Tensor

from .workloads import Training


class Watcher:
    """Nothing is watched: the measure of all others."""

    def start(self, training: Training) -> None: ...

    def before_step(self, step: int, x: Tensor, y: Tensor) -> None: ...

    def after_backward(self, step: int, loss: Tensor) -> None: ...

    def after_step(self, step: int, loss: Tensor) -> None: ...

    def resumed(self, idle: float) -> None:
        """Others had their turn for so many seconds, which are not the training's."""

    def own_seconds(self) -> float | None:
        """What the watcher itself says it has taken so far, if it says so."""
        return None


class Bedside(Watcher):
    options: ClassVar[dict[str, object]] = {}

    def start(self, training: Training) -> None:
        import bedside

        folder = tempfile.mkdtemp(prefix="bedside-cost-")
        self.monitor = bedside.watch(
            training.model, training.optimizer, run_dir=f"{folder}/run", quiet=True, **self.options
        )

    def resumed(self, idle: float) -> None:
        monitor = self.monitor
        monitor._alarms._began += idle
        monitor._last_flush += idle
        monitor._looked_over += idle
        monitor._steps.last_end = (monitor._steps.last_end or 0.0) + idle
        monitor.quiet._began += idle
        if monitor.quiet.on:
            monitor.quiet._deadline += idle

    def own_seconds(self) -> float:
        return self.monitor._governor.total + self.monitor.quiet.spent


class TierZero(Bedside):
    options: ClassVar[dict[str, object]] = {"vitals": ["loss", "lr", "grad_clip_ratio"]}


class EveryStep(Bedside):
    options: ClassVar[dict[str, object]] = {"budget": None}


class AnomalyMode(Watcher):
    def start(self, training: Training) -> None:
        torch.autograd.set_detect_anomaly(True)


OURS = {
    "nothing": "cost.watchers:Watcher",
    "nothing again": "cost.watchers:Watcher",  # how well two equal things are told apart here
    "bedside": "cost.watchers:Bedside",
    "bedside, loss only": "cost.watchers:TierZero",
    "bedside, everything every step": "cost.watchers:EveryStep",
    "seed article": "cost.others:NaiveBrief",
    "seed article, our vitals": "cost.others:NaiveFull",
    "Composer's formula": "cost.others:ComposerFormula",
    "Lightning grad_norm": "cost.others:LightningGradNorm",
    "TensorBoard, 100 scalars": "cost.others:TensorBoard100",
    "anomaly mode": "cost.watchers:AnomalyMode",
}


def watcher(place: str) -> Watcher:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)()
