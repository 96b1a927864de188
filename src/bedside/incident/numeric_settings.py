"""Everything besides weights, batch and random numbers that decides the bits of a result.

What can be set (matmul precision, deterministic algorithms, the number of threads, which changes the order of sums) is
set for a replay and put back. What cannot be set (versions, the kind of device, the processor's instructions) has to
match.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bedside.training.forward import device_of

SETTABLE = ("matmul_precision", "deterministic", "deterministic_warn_only", "default_dtype", "threads", "mkldnn")
FIXED = {
    "torch": "the version of torch",
    "device": "the kind of device",
    "processor": "the instructions that torch uses on this processor",
    "machine": "the kind of machine",
}


def numeric_settings(model: nn.Module) -> dict[str, Any]:
    """As they are now, for this model."""
    return {
        "torch": str(torch.__version__),
        "device": device_of(model).type,
        "processor": torch.backends.cpu.get_cpu_capability(),
        "machine": platform.machine(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "mkldnn": bool(torch.backends.mkldnn.enabled),
        "cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
    }


def mismatches(then: Mapping[str, Any], model: nn.Module) -> list[str]:
    """What differs and cannot be set, in words."""
    now = numeric_settings(model)
    return [
        f"{words} was {then[name]} and is {now[name]}"
        for name, words in FIXED.items()
        if name in then and then[name] != now[name]
    ]


@contextmanager
def numerics_of(then: Mapping[str, Any]) -> Iterator[None]:
    """The settings of that moment for this block."""
    now = {name: value for name, value in numeric_settings(nn.Identity()).items() if name in SETTABLE}
    _apply({**now, **{name: then[name] for name in SETTABLE if name in then}})
    try:
        yield
    finally:
        _apply(now)


def _apply(settings: Mapping[str, Any]) -> None:
    torch.set_float32_matmul_precision(settings["matmul_precision"])
    torch.use_deterministic_algorithms(settings["deterministic"], warn_only=settings["deterministic_warn_only"])
    torch.set_default_dtype(getattr(torch, settings["default_dtype"]))
    torch.set_num_threads(settings["threads"])
    torch.backends.mkldnn.enabled = settings["mkldnn"]
