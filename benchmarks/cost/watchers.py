"""How a way of watching meets the training: before and after each step, like a user's own code in the loop."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from .workloads import Training


class Watcher:
    """Nothing is watched: the measure of all others."""

    def start(self, training: Training) -> None: ...

    def before_step(self, step: int, x: Tensor, y: Tensor) -> None: ...

    def backward(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        """Forward, loss and backward; a tool that needs them done its own way does them."""
        loss = F.cross_entropy(training.model(x), y)
        loss.backward()
        return loss

    def after_backward(self, step: int, loss: Tensor) -> None: ...

    def after_step(self, step: int, loss: Tensor) -> None: ...

    def resumed(self, idle: float) -> None:
        """Others had their turn for so many seconds, which are not the training's."""

    def away(self) -> AbstractContextManager[object]:
        """Meanwhile another training of the same process makes steps, and nothing of the watcher may be met there."""
        return nullcontext()

    def own_seconds(self) -> float | None:
        """What has been spent inside the watcher so far, where that is known."""
        return None

    def reading_seconds(self) -> float | None:
        """The same without writing the numbers down and saying what they mean, which others leave to the reader."""
        return self.own_seconds()

    def end(self) -> None:
        """Stop watching: somebody else's turn in this process."""


class Bedside(Watcher):
    options: ClassVar[dict[str, object]] = {}

    def start(self, training: Training) -> None:
        import bedside

        folder = tempfile.mkdtemp(prefix="bedside-cost-")
        self.monitor = bedside.watch(
            training.model, training.optimizer, run_dir=f"{folder}/run", quiet=True, **self.options
        )

    def resumed(self, idle: float) -> None:
        from bedside.collect.alarms import GRACE

        monitor = self.monitor
        if monitor.step:  # what early looks may take besides is over after 500 steps, which slow nets do not reach here
            monitor._alarms._spent_early = GRACE
        monitor._alarms._began += idle
        monitor._flushes.last += idle
        monitor._looked_over += idle
        monitor._steps.last_end = (monitor._steps.last_end or 0.0) + idle
        monitor.quiet._began += idle
        if monitor.quiet.on:
            monitor.quiet._deadline += idle

    @contextmanager
    def away(self) -> Iterator[None]:
        from bedside.collect import patches

        patches._remove()
        try:
            yield
        finally:
            patches._install()

    def own_seconds(self) -> float:
        return self.monitor._governor.total + self.monitor.quiet.spent

    def reading_seconds(self) -> float:
        return self.own_seconds() - self.monitor._governor.looking - self.monitor._governor.writing

    def end(self) -> None:
        self.monitor.close()


class TierZero(Bedside):
    options: ClassVar[dict[str, object]] = {"vitals": ["loss", "lr", "grad_clip_ratio"]}


class Plain(Bedside):
    """With torch and numpy alone, as where numba is not installed."""

    def start(self, training: Training) -> None:
        os.environ["BEDSIDE_NATIVE"] = "0"
        super().start(training)


class Native(Bedside):
    """With the machine code ready from the first step, as later in a long run."""

    def start(self, training: Training) -> None:
        from bedside.collect import native

        if not native.load():
            raise RuntimeError("numba is not installed")
        super().start(training)


NORMS = ["grad_norm", "grad_norm_clipped", "param_norm", "update_norm", "nonfinite_grads", "nonfinite_params"]
OUTPUTS = ["activation_mean", "activation_rms", "zero_fraction", "saturated_fraction"]


class NormsEveryStep(Plain):
    options: ClassVar[dict[str, object]] = {"budget": None, "vitals": NORMS}


class NormsEveryStepNative(Native):
    options: ClassVar[dict[str, object]] = {"budget": None, "vitals": NORMS}


class ActivationsEveryStep(Plain):
    """What a step costs at which activations are sampled."""

    options: ClassVar[dict[str, object]] = {"budget": None, "vitals": OUTPUTS}


class ActivationsEveryStepNative(Native):
    options: ClassVar[dict[str, object]] = {"budget": None, "vitals": OUTPUTS}


class EveryStep(Plain):
    options: ClassVar[dict[str, object]] = {"budget": None}


class EveryStepNative(Native):
    options: ClassVar[dict[str, object]] = {"budget": None}


class AnomalyMode(Watcher):
    def start(self, training: Training) -> None:
        torch.autograd.set_detect_anomaly(True)


OURS = {
    "nothing": "cost.watchers:Watcher",
    "nothing again": "cost.watchers:Watcher",  # how well two equal things are told apart here
    "bedside": "cost.watchers:Bedside",
    "bedside, loss only": "cost.watchers:TierZero",
    "bedside, norms every step": "cost.watchers:NormsEveryStep",
    "bedside, norms every step, native": "cost.watchers:NormsEveryStepNative",
    "bedside, activations every step": "cost.watchers:ActivationsEveryStep",
    "bedside, activations every step, native": "cost.watchers:ActivationsEveryStepNative",
    "bedside, everything every step": "cost.watchers:EveryStep",
    "bedside, everything every step, native": "cost.watchers:EveryStepNative",
    "seed article": "cost.others:NaiveBrief",
    "seed article, our norms": "cost.others:NaiveFull",
    "seed article, norms and activations": "cost.others:NaiveEverything",
    "Composer's formula": "cost.others:ComposerFormula",
    "Lightning grad_norm": "cost.others:LightningGradNorm",
    "TensorBoard, 100 scalars": "cost.others:TensorBoard100",
    "anomaly mode": "cost.watchers:AnomalyMode",
}


def watcher(place: str) -> Watcher:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)()
