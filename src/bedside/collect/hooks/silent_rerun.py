"""A forward pass once more, without a trace: random numbers, buffers and plain attributes are as they were before.

Used where the real forward cannot be observed, or was not: a compiled model on sampled steps, and the batch whose
loss was not finite.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

Autocast = Sequence[tuple[str, torch.dtype]]
CONTAINERS = (list, dict, set, deque)
OF_TORCH = frozenset(nn.Module().__dict__)  # parameters, buffers, modules and hooks: tables of torch's own


def rerun_silently(
    module: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    autocast: Autocast = (),
    numbers: Mapping[nn.Module, Mapping[str, Any]] | None = None,
) -> Any:
    """The module's output for these arguments, uncompiled and without gradients.

    `numbers` are attributes and buffers to start from, for modules that count their own calls.
    """
    with ExitStack() as stack:
        stack.enter_context(untouched(module))
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        for device, dtype in autocast:
            stack.enter_context(torch.autocast(device, dtype))
        for each, values in (numbers or {}).items():
            for name, value in values.items():
                (each._buffers if name in each._buffers else each.__dict__)[name] = value
        return module(*args, **kwargs)


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Whatever runs inside leaves no trace in the model or in the random numbers.

    Buffers are exchanged for copies rather than copied back: a graph that waits for its backward may need them
    untouched, down to their version counters.
    """
    modules = list(model.modules())
    before = [module.__dict__.copy() for module in modules]
    held = _held(before)
    for module in modules:
        if module._buffers:
            copies = {name: None if b is None else b.detach().clone() for name, b in module._buffers.items()}
            module.__dict__["_buffers"] = copies
    python, arrays = random.getstate(), np.random.get_state()
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)
        for module, attributes in zip(modules, before, strict=True):
            _put_back(module.__dict__, attributes)
        for container, contents in held:
            _refill(container, contents)


def _put_back(now: dict[str, Any], before: Mapping[str, Any]) -> None:
    for name in [name for name in now if name not in before]:
        del now[name]
    for name, value in before.items():
        if now.get(name, now) is not value:
            now[name] = value


def _held(attributes: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """What a forward may add to in place: lists of losses, dicts of counts, generators of random numbers."""
    own = [each for named in attributes for name, each in named.items() if name not in OF_TORCH]
    generators = [(each, each.get_state()) for each in own if isinstance(each, torch.Generator)]
    return [(each, each.copy()) for each in own if type(each) in CONTAINERS] + generators


def _refill(container: Any, contents: Any) -> None:
    if isinstance(container, torch.Generator):
        container.set_state(contents)
    elif len(container) != len(contents) or any(a is not b for a, b in zip(container, contents, strict=True)):
        container.clear()
        (container.extend if isinstance(container, list | deque) else container.update)(contents)
    elif isinstance(container, dict):
        container.update(contents)
