"""Treatments for a sick training: each changes one thing, and everything is put back after its trial.

A treatment's `apply` gets the `Training` and changes it in place: optimizer groups, loop, model. It may return a
function that is called with the step's number before each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.errors import BadOption
from bedside.lab.experiments.dead_units import LayerUnits, dead_units
from bedside.training.batches import map_tensors
from bedside.training.step import Training
from bedside.wording import number, plural

EachStep = Callable[[int], None]
HALVES = (torch.float16, torch.bfloat16)
RATES = ("lr", "initial_lr", "max_lr", "min_lr")  # what schedulers keep in a group beside the rate itself


@dataclass(frozen=True)
class Treatment:
    """One thing to try."""

    name: str
    apply: Callable[[Training], EachStep | None]


def learning_rate(factor: float) -> Treatment:
    """The learning rate times this, also for a scheduler that computes it anew."""

    def apply(training: Training) -> None:
        for group in training.needed_optimizer().param_groups:
            for key in RATES:
                if key in group:
                    group[key] = group[key] * factor
        scheduler = training.loop.scheduler
        if hasattr(scheduler, "base_lrs"):
            scheduler.base_lrs = [rate * factor for rate in scheduler.base_lrs]

    name = f"LR × {number(factor)}" if factor > 1 else f"LR ÷ {number(1 / factor)}"
    return Treatment(name, apply)


def clip(norm: float) -> Treatment:
    """Gradients clipped at this norm; infinity switches clipping off."""
    name = "no clipping" if norm == float("inf") else f"clip at {number(norm)}"
    return Treatment(name, lambda training: _loop(training, clip=None if norm == float("inf") else norm))


def skip_outliers(times: float = 5.0) -> Treatment:
    """Steps whose gradient is this many times the usual one, or not finite, are left out."""
    return Treatment("skip outlier batches", lambda training: _loop(training, skip_above=times))


def weight_decay(value: float) -> Treatment:
    def apply(training: Training) -> None:
        for group in training.needed_optimizer().param_groups:
            if "weight_decay" in group:
                group["weight_decay"] = value

    return Treatment("no weight decay" if not value else f"weight decay {number(value)}", apply)


def warmup(steps: int) -> Treatment:
    """The learning rate rises from nothing over so many steps."""

    def apply(training: Training) -> EachStep:
        groups = training.needed_optimizer().param_groups
        full = [float(group["lr"]) for group in groups]

        def each_step(step: int) -> None:
            if step <= steps:
                for group, rate in zip(groups, full, strict=True):
                    group["lr"] = rate * min(1.0, (step + 1) / steps)

        return each_step

    return Treatment(f"warm-up of {plural(steps, 'step')}", apply)


def fresh_optimizer() -> Treatment:
    """Moments and momentum forgotten."""
    return Treatment("fresh optimizer state", lambda training: training.needed_optimizer().state.clear())


def full_precision() -> Treatment:
    """Everything in float32, without autocast and without a scaler."""

    def apply(training: Training) -> None:
        _loop(training, autocast=None, scaler=None)
        if any(each.dtype in HALVES for each in training.model.parameters()):
            training.model.float()
            training.model.register_forward_pre_hook(_float_inputs, with_kwargs=True)  # gone when all is put back
            _cast_state(training.needed_optimizer())

    return Treatment("float32", apply)


def bfloat16() -> Treatment:
    """Autocast in bfloat16 instead of float16, without a scaler."""

    def apply(training: Training) -> None:
        full_precision().apply(training)
        _loop(training, autocast=torch.bfloat16)

    return Treatment("bf16", apply)


def training_mode() -> Treatment:
    """`model.train()`, where the model was left in evaluation mode."""
    return Treatment("train mode", lambda training: training.model.train() and None)


def revive_dead_units() -> Treatment:
    """Units that never fire get new weights; the optimizer forgets them."""

    def apply(training: Training) -> None:
        for layer in dead_layers(training):
            module = training.model.get_submodule(layer.fed_by)
            rows = torch.tensor(layer.dead, dtype=torch.long)
            for parameter in module.parameters(recurse=False):
                if parameter.shape[0] == layer.units:
                    _renew(parameter, rows, training.needed_optimizer())

    return Treatment("re-initialised dead units", apply)


def dead_layers(training: Training) -> list[LayerUnits]:
    """Layers with units that never fire on the first batches."""
    try:
        found = dead_units(training.model, training.loader, batches=4, forward=training.forward)
    except BadOption:
        return []
    return [layer for layer in found.layers if layer.dead and layer.fed_by]


def proposed(training: Training) -> Iterator[Treatment]:
    """What a doctor would try first, given how this training is set up."""
    yield from map(learning_rate, (0.01, 0.1, 10.0, 100.0))
    if training.loop.clip is not None:
        yield clip(float("inf"))
    if training.loop.clip is None or training.loop.clip > 1.0:
        yield clip(1.0)
    yield skip_outliers()
    groups = training.needed_optimizer().param_groups
    if any(group.get("weight_decay") for group in groups):
        yield weight_decay(0.0)
    yield warmup(30)
    if training.needed_optimizer().state:
        yield fresh_optimizer()
    half = any(each.dtype is torch.float16 for each in training.model.parameters())
    if training.loop.autocast is torch.float16 or half:
        yield from (bfloat16(), full_precision())
    elif training.loop.autocast is not None or any(p.dtype is torch.bfloat16 for p in training.model.parameters()):
        yield full_precision()
    if not training.model.training:
        yield training_mode()
    if dead_layers(training):
        yield revive_dead_units()


def _loop(training: Training, **changes: object) -> None:
    training.loop = replace(training.loop, **changes)  # type: ignore[arg-type]  # names of Loop's own fields


def _renew(parameter: Tensor, rows: Tensor, optimizer: Optimizer) -> None:
    fresh = torch.zeros_like(parameter)
    if parameter.ndim > 1:
        nn.init.kaiming_uniform_(fresh, nonlinearity="relu")
    with torch.no_grad():
        parameter[rows] = fresh[rows]
    for value in optimizer.state.get(parameter, {}).values():
        if isinstance(value, Tensor) and value.shape == parameter.shape:
            value[rows] = 0


def _cast_state(optimizer: Optimizer) -> None:
    for state in optimizer.state.values():
        for key, value in state.items():
            if isinstance(value, Tensor) and value.dtype in HALVES:
                state[key] = value.float()


def _float_inputs(_: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    return map_tensors(_float, args), map_tensors(_float, kwargs)


def _float(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in HALVES else tensor
