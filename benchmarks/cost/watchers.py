"""How a way of watching meets the training: before and after each step, like a user's own code in the loop."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def away(self, training: Training) -> Iterator[None]:
        """Meanwhile the training makes steps that nobody watches: every hook is set aside."""
        with aside(training):
            yield

    def own_seconds(self) -> float | None:
        """What has been spent inside the watcher so far, where that is known."""
        return None

    def reading_seconds(self) -> float | None:
        """The same without writing the numbers down and saying what they mean, which others leave to the reader."""
        return self.own_seconds()


class Bedside(Watcher):
    options: ClassVar[dict[str, object]] = {}

    def start(self, training: Training) -> None:
        import bedside

        folder = tempfile.mkdtemp(prefix="bedside-cost-")
        self.monitor = bedside.watch(
            training.model, training.optimizer, run_dir=f"{folder}/run", quiet=True, **self.options
        )

    def resumed(self, idle: float) -> None:
        from bedside.monitor.alarms import EARLY_SECONDS

        monitor = self.monitor
        if monitor.step:  # what early looks may take besides is over after 500 steps, which slow nets do not reach here
            monitor.dispatcher.flush_cycle.alarms._spent_early = EARLY_SECONDS
        monitor.dispatcher.flush_cycle.alarms._began += idle
        monitor.dispatcher.flush_cycle.timing.last += idle
        monitor.dispatcher.flush_cycle.looked_over += idle
        monitor._steps.last_end = (monitor._steps.last_end or 0.0) + idle
        monitor.dispatcher.fast_path._began += idle
        if monitor.dispatcher.fast_path.active:
            monitor.dispatcher.fast_path._deadline += idle
        for reader in monitor._steps._readers.values():  # weights are remembered from one step that is read to the next
            if reader._moved is not None:
                reader._moved.remember(reader._parameters)
                reader._moved._change_check.note(reader._parameters)

    @contextmanager
    def away(self, training: Training) -> Iterator[None]:
        from bedside.collect.hooks import torch_patches as patches
        from bedside.collect.hooks.call_slot import lifted

        patches.remove_dispatcher(self.monitor.dispatcher)
        try:
            with aside(training), lifted():
                yield
        finally:
            patches.add_dispatcher(self.monitor.dispatcher)

    def own_seconds(self) -> float:
        return self.monitor.dispatcher.budget.total + self.monitor.dispatcher.fast_path.spent

    def reading_seconds(self) -> float:
        return (
            self.own_seconds()
            - self.monitor.dispatcher.budget.alarm_seconds
            - self.monitor.dispatcher.budget.write_seconds
        )


class TierZero(Bedside):
    options: ClassVar[dict[str, object]] = {"vitals": ["loss", "lr", "grad_clip_ratio"]}


class Plain(Bedside):
    """With torch and numpy alone, as where numba is not installed."""

    def start(self, training: Training) -> None:
        os.environ["BEDSIDE_NATIVE"] = "0"
        super().start(training)


class Native(Bedside):
    """With the native code ready from the first step, as later in a long run."""

    def start(self, training: Training) -> None:
        from bedside.collect.reading.native import sums as native

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

    @contextmanager
    def away(self, training: Training) -> Iterator[None]:
        with torch.autograd.set_detect_anomaly(False):
            yield


# Where torch keeps hooks, and a call that replaces a module's own.
HOOKS = (
    "_backward_hooks", "_backward_pre_hooks", "_compiled_call_impl", "_forward_hooks", "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_optimizer_step_post_hooks",
    "_optimizer_step_pre_hooks",
)  # fmt: skip


@contextmanager
def aside(training: Training) -> Iterator[None]:
    """Without anybody's hooks on the modules and the optimizer; afterwards they are back."""
    kept = []
    for home in (*map(vars, training.model.modules()), vars(training.optimizer)):
        for name in HOOKS:
            if hooks := home.get(name):
                kept.append((home, name, hooks))
                if isinstance(hooks, dict):
                    home[name] = type(hooks)()
                else:
                    del home[name]
    try:
        yield
    finally:
        for home, name, hooks in kept:
            home[name] = hooks


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
    "naive hooks": "cost.others:NaiveBrief",
    "naive hooks, all our norms": "cost.others:NaiveFull",
    "naive hooks, norms and activations": "cost.others:NaiveEverything",
    "Composer's formula": "cost.others:ComposerFormula",
    "Lightning grad_norm": "cost.others:LightningGradNorm",
    "TensorBoard, 100 scalars": "cost.others:TensorBoard100",
    "anomaly mode": "cost.watchers:AnomalyMode",
}


def watcher(place: str) -> Watcher:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)()
