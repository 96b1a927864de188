"""Which modules compute in which precision, and that half precision is used with care.

## What it sees
Weights that are kept in float16; float16 autocast without a GradScaler; gradients that overflow in the first batches;
the precision in which each layer puts out its numbers.

## Why it matters
Float16 ends at 65,504 and loses everything below 6e-8. Gradients underflow to zero without a scaler, and small updates
vanish in float16 weights. Bfloat16 has the range, but weights that are kept in it swallow small updates too.

## How it decides
The precision of the parameters, the `loop` you gave, and one forward pass in it. Float16 without a scaler is a failure,
as are float16 weights; weights in bfloat16 are a note.

## When it is wrong
Optimizers that keep a copy of the weights in float32 themselves.

## What to try
1. `torch.autocast("cuda", dtype=torch.bfloat16)` with weights in float32.
2. `torch.amp.GradScaler()` with float16.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined, examples
>>> x, y = examples()
>>> print(examined(mixed_precision, nn.Linear(8, 3).half(), x=x.half()))
PRE701 mixed-precision: 27 of 27 trainable numbers are kept in float16: small updates vanish in them.

## References
- Micikevicius et al. (2018), Mixed precision training.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    """A format is one or another: nothing to set."""


@check("PRE701", severity=Severity.WARNING, limits=Limits(), needs=[LOSS])
def mixed_precision(setup: Setup, limits: Limits) -> Passed | Finding:
    kept = Counter({torch.float32: 0})
    for each in setup.trainable.values():
        kept[each.dtype] += each.numel()
    total, loop = sum(kept.values()), setup.training.loop
    used = _outputs(setup)
    numbers = {"weights": {_name(d): n for d, n in kept.items() if n}, "outputs": used}
    for dtype, severity in ((torch.float16, None), (torch.bfloat16, Severity.NOTE)):
        if kept[dtype]:
            return _finding(
                f"{count(kept[dtype])} of {count(total)} trainable numbers are kept in {_name(dtype)}: small updates "
                "vanish in them.",
                severity,
                numbers,
                "Keep weights in float32 and compute under torch.autocast.",
            )
    if loop.autocast is torch.float16 and loop.scaler is None:
        return _finding(
            "float16 is used without a GradScaler: small gradients become zero.",
            None,
            numbers,
            "scaler = torch.amp.GradScaler(), or bfloat16, which needs none.",
        )
    said = listed(f"{name}: {len(modules)} layers" for name, modules in used.items())
    return mixed_precision.passed(said or "no layer with a floating-point output", **numbers)


def _finding(message: str, severity: Severity | None, numbers: dict[str, Any], advice: str) -> Finding:
    return mixed_precision.finding(
        message,
        severity=severity,
        confidence=0.85,
        evidence=numbers,
        could_also_be=("An optimizer that keeps weights in float32 itself.",),
        try_=(advice,),
    )


def _outputs(setup: Setup) -> dict[str, list[str]]:
    """The leaf modules by the precision of what they put out."""
    found: dict[str, list[str]] = {}

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: Any, output: Any) -> None:
            tensor = output[0] if isinstance(output, tuple) and output else output
            if isinstance(tensor, Tensor) and tensor.is_floating_point():
                names = found.setdefault(_name(tensor.dtype), [])
                if name not in names:
                    names.append(name)

        return look

    leaves = [(name, each) for name, each in setup.model.named_modules() if not any(each.children())]
    hooks = [each.register_forward_hook(hook(name)) for name, each in leaves]
    setup.training.train_mode()
    try:
        with torch.no_grad(), setup.training.autocast():
            setup.loss.output(setup.batch())
    finally:
        for each in hooks:
            each.remove()
    return found


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
