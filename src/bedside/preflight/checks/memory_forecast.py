"""How much memory a full training step takes, and whether there is enough.

## What it sees
Weights, gradients, the optimizer's own state, and what is kept of the forward pass for the backward.

## Why it matters
The optimizer's state is only made in the first step, so that the first forward fits and the first step does not. And
a batch size that was tried without the optimizer is not a batch size.

## How it decides
One step is taken (and taken back) while tensors that the graph keeps are counted, each piece of memory once. Failed if
the sum is more than the device has in all. What kernels need in between is not counted: expect a quarter more.

## When it is wrong
With activation checkpointing, sharding or offloading, which it does not know.

## What to try
1. A smaller batch with accumulation, bfloat16, or activation checkpointing.

## Example
>>> from bedside.preflight.example_setup import examined
>>> print(examined(memory_forecast))
PRE702 memory-forecast: about 9.09 kB: weights 1.55 kB, gradients 1.55 kB, optimizer 3.11 kB, forward pass 2.88 kB

## References
- Rajbhandari et al. (2020), ZeRO: memory optimizations toward training trillion parameter models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.forward import device_of
from bedside.wording import number

UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Limits:
    full: float = 1.0  # of the device's memory


@check("PRE702", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT])
def memory_forecast(setup: Setup, limits: Limits) -> Passed | Finding:
    parts = {
        "weights": sum(_bytes(each) for each in [*setup.model.parameters(), *setup.model.buffers()]),
        "gradients": sum(_bytes(each) for each in setup.trainable.values()),
        "optimizer": _optimizer_bytes(setup),
        "forward pass": _kept_bytes(setup),
    }
    total = sum(parts.values())
    numbers = {name.replace(" ", "_") + "_bytes": size for name, size in parts.items()} | {"total_bytes": total}
    said = ", ".join(f"{name} {_size(size)}" for name, size in parts.items())
    device = device_of(setup.model)
    there = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None
    if there is None or total <= limits.full * there:
        return memory_forecast.passed(f"about {_size(total)}: {said}", **numbers)
    return memory_forecast.finding(
        f"A step takes about {_size(total)}, and the device has {_size(there)}: {said}.",
        confidence=0.8,
        evidence=numbers | {"device_bytes": there},
        could_also_be=("Sharding or offloading, which is not known here.",),
        try_=("A smaller batch with accumulation, bfloat16, or activation checkpointing.",),
    )


def _optimizer_bytes(setup: Setup) -> int:
    if setup.optimizer is None:
        return 0
    setup.training.train_mode()
    try:
        setup.training.step_on([setup.batch()])
    except TypeError:  # an optimizer that calls the loss itself
        return 0
    tensors = {id(each): each for state in setup.optimizer.state.values() for each in _tensors(state)}
    found = sum(_bytes(each) for each in tensors.values())
    setup.rewind()
    return found


def _kept_bytes(setup: Setup) -> int:
    """Memory that the graph of one loss keeps, beside the weights: each piece once."""
    weights = {each.untyped_storage().data_ptr() for each in setup.model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    setup.training.train_mode()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = setup.training.batch_loss(setup.batch())
    del loss
    return sum(kept.values())


def _tensors(state: Any) -> list[Tensor]:
    values = state.values() if isinstance(state, dict) else ()
    return [each for each in values if isinstance(each, Tensor)]


def _bytes(tensor: Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _size(size: float) -> str:
    return next((f"{number(size / unit)} {name}" for unit, name in UNITS if size >= unit), f"{int(size)} bytes")
