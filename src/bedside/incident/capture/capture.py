"""Everything that is needed to run the step again, taken at the moment it is seen to be bad.

That is before clipping and before the update, so that weights, buffers and optimizer state are still those from before.
Tensors are only referenced here; `folder.py` writes them at once, before anything changes.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.incident.capture.micro_batches import Call, MicroBatch
from bedside.incident.numeric_settings import numeric_settings
from bedside.incident.serialisation import Packing
from bedside.record.environment import environment
from bedside.training.forward import device_of
from bedside.training.nonfinite.operators import OURS, TORCH
from bedside.training.nonfinite.values import is_finite

FORMAT = 1  # of the folder; a newer one is refused
PARTS = ("batches", "weights", "optimizer")  # in order of importance: the last is left out first when space is short


@dataclass
class Captured:
    """An incident in memory: the facts as JSON, and the tensors of each part."""

    facts: dict[str, Any]
    parts: dict[str, Packing] = field(default_factory=dict)


@dataclass(frozen=True)
class Trigger:
    """Why the step is kept."""

    kind: str  # nonfinite loss, nonfinite gradient, spike, exception, out of memory
    what: str  # one sentence
    evidence: Mapping[str, Any] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(frozen=True)
class Training:
    """The objects of the user's that take part in a step."""

    model: nn.Module
    optimizers: Sequence[Optimizer]
    scaler: Any = None
    schedulers: Sequence[Any] = ()
    buffers: Mapping[str, Tensor] | None = None  # from before the forward; None: as they are now


def capture(
    trigger: Trigger,
    training: Training,
    micro_batches: Sequence[MicroBatch],
    *,
    step: int,
    rank: int,
    redact: Callable[[Any], Any] | None = None,
) -> Captured:
    """The step as it is now."""
    model = training.model
    parts = {name: Packing() for name in PARTS}
    facts: dict[str, Any] = {
        "format": FORMAT,
        "step": step,
        "rank": rank,
        "ranks": _ranks(),
        "kind": trigger.kind,
        "what": trigger.what,
        "error": "" if trigger.error is None else type(trigger.error).__name__,
        "evidence": parts["weights"].pack(dict(trigger.evidence), "evidence"),
        "numerics": numeric_settings(model),
        "environment": environment(device=str(device_of(model)), seed=torch.initial_seed()),
        "stack": stack(trigger.error),
        "micro_batches": [
            _micro_batch(parts["batches"], each, f"micro_batch.{number}", redact)
            for number, each in enumerate(micro_batches)
        ],
        "changed_in_place": sorted({name for each in micro_batches for name in each.changed()}),
        "redacted": redact is not None,
        "gradients": gradient_marks(model),
        "loss_scale": _loss_scale(training.scaler),
        "evaluating": [name for name, module in model.named_modules() if not module.training],
        **_states(parts, training),
    }
    return Captured(facts, parts)


def _states(parts: Mapping[str, Packing], training: Training) -> dict[str, Any]:
    weights, optimizer = parts["weights"], parts["optimizer"]
    buffers = training.buffers if training.buffers is not None else dict(training.model.named_buffers())
    return {
        "parameters": {name: weights.pack(each, name) for name, each in training.model.named_parameters()},
        "buffers": {name: weights.pack(each, name) for name, each in buffers.items()},
        "optimizers": [
            {"name": type(each).__name__, "state": optimizer.pack(each.state_dict(), f"optimizer.{number}")}
            for number, each in enumerate(training.optimizers)
        ],
        "scaler": None if training.scaler is None else optimizer.pack(training.scaler.state_dict(), "scaler"),
        "schedulers": [
            {"name": type(each).__name__, "state": optimizer.pack(each.state_dict(), f"scheduler.{number}")}
            for number, each in enumerate(training.schedulers)
        ],
    }


def _micro_batch(packing: Packing, held: MicroBatch, at: str, redact: Callable[[Any], Any] | None) -> dict[str, Any]:
    clean = redact or (lambda value: value)
    loaded = held.loaded
    return {
        "random": None if held.random is None else packing.pack(asdict(held.random), f"{at}.random"),
        "calls": [_call(packing, each, f"{at}.call.{number}", clean) for number, each in enumerate(held.calls)],
        "batch": None if loaded is None else packing.pack(clean(loaded.batch), f"{at}.batch"),
        "indices": None if loaded is None else packing.pack(loaded.indices, f"{at}.indices"),
        "function": held.function,
        "target": packing.pack(clean(held.target), f"{at}.target"),
        "loss": packing.pack(float(held.loss) if held.loss is not None else None, f"{at}.loss"),
        "backward": held.over,
    }


def _call(packing: Packing, call: Call, at: str, clean: Any) -> dict[str, Any]:
    return {
        "args": packing.pack(clean(call.args), f"{at}.args"),
        "kwargs": packing.pack(clean(call.kwargs), f"{at}.kwargs"),
        "autocast": [[device, str(dtype).removeprefix("torch.")] for device, dtype in call.autocast],
    }


def _ranks() -> int:
    distributed = torch.distributed
    return int(distributed.get_world_size()) if distributed.is_available() and distributed.is_initialized() else 1


def _loss_scale(scaler: Any) -> float | None:
    return float(scaler.get_scale()) if scaler is not None and scaler.is_enabled() else None


def gradient_marks(model: nn.Module) -> dict[str, dict[str, Any]]:
    """Per parameter a fingerprint of its bits, and whether all of them are finite."""
    return {
        name: {"mark": mark(each.grad), "finite": is_finite(each.grad)}
        for name, each in model.named_parameters()
        if each.grad is not None
    }


def mark(tensor: Tensor) -> str:
    """The same for the same bits; every NaN counts as the same one."""
    local = getattr(tensor, "to_local", None)
    values = (local() if callable(local) else tensor).detach()
    values = (values.to_dense() if values.layout is not torch.strided else values).cpu().contiguous()
    nan = torch.isnan(values)
    plain = torch.where(nan, torch.zeros_like(values), values)
    digest = hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    digest.update(nan.reshape(-1).numpy().tobytes())
    return digest.hexdigest()[:16]


def stack(error: BaseException | None) -> list[str]:
    """The user's own lines, outermost first: of the exception, or of where the loop is now."""
    frames = traceback.extract_stack() if error is None else traceback.extract_tb(error.__traceback__)
    return [
        f"{frame.filename}:{frame.lineno} in {frame.name}: {(frame.line or '').strip()}"
        for frame in frames
        if not frame.filename.startswith((TORCH, OURS, "<"))
    ]
