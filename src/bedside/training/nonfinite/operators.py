"""The second stage of a NaN hunt: every operation inside a block is checked, and the first producer is found.

A producer makes NaN or Inf out of finite numbers; a propagator passes on what it was given. Infinities written on
purpose (an attention mask of -inf) count as finite until they become NaN. From the bad result the chain is followed
back to its beginning, so that an overflow which was masked away later is not blamed.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bedside.training.nonfinite.values import Statistics, is_finite, readable_values, statistics

FILLS = (
    "fill",
    "full",
    "masked_fill",
    "scalar_tensor",
    "where",
    "zeros",
    "empty",
    "lift_fresh",
    "new_full",
    "triu",
    "tril",
)
TORCH = str(Path(torch.__file__).parent)
OURS = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class Operation:
    """One operation that gave a result which is not finite."""

    name: str  # as torch calls it: aten.log, aten.div
    line: str  # the user's: "model.py:41 in forward: return x.log()"
    operands: tuple[Statistics, ...]
    result: Statistics
    constants: tuple[float, ...] = ()
    reads: frozenset[int] = field(default=frozenset(), repr=False)  # memory that was not finite before
    writes: frozenset[int] = field(default=frozenset(), repr=False)
    produces: bool = False


class CheckOperations(TorchDispatchMode):  # type: ignore[misc]  # torch is not followed by the type checker
    """Notes every operation in this block whose result is not finite."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Operation] = []
        self._kept: list[Tensor] = []  # so that no address is used twice
        self._intended: set[int] = set()  # memory with infinities that somebody wrote on purpose

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        inputs = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        # Statistics before the call: an in-place operation overwrites what it was given.
        before = [(each, _memory(each), is_finite(each)) for each in inputs]
        kept = [statistics(each) for each in inputs]
        result = func(*args, **kwargs)
        bad = [each for each in tree_leaves(result) if isinstance(each, Tensor) and not is_finite(each)]
        for each in bad:
            self._note(func, before, kept, args, each)
        return result

    def _note(self, func: Any, before: list[Any], kept: list[Statistics], args: Any, result: Tensor) -> None:
        name = str(func).rpartition(".")[0] or str(func)
        made = statistics(result)
        own = _memory(result)
        bad_inputs = [(memory, stats) for (_, memory, fine), stats in zip(before, kept, strict=True) if not fine]
        unintended = [memory for memory, stats in bad_inputs if stats.nan or memory not in self._intended]
        constants = tuple(float(each) for each in tree_leaves(args) if isinstance(each, int | float))
        self._kept.append(result)
        if not made.nan and not unintended and (_is_fill(name) or bad_inputs):
            self._intended.add(own)  # a mask, or what a view or a sum makes of one
            return
        reads = frozenset(unintended)
        step = Operation(name, user_line(), tuple(kept), made, constants, reads, frozenset([own]), not reads)
        self.seen.append(step)

    def producer(self, result: Tensor | None = None) -> Operation | None:
        """Where the chain that ends in `result` (or the last bad operation) began."""
        wanted = {_memory(result)} if result is not None else None
        chosen: Operation | None = None
        for operation in reversed(self.seen):
            if wanted is None or wanted & operation.writes:
                chosen = operation
                wanted = set(operation.reads)
                if operation.produces:
                    return operation
        return next((each for each in self.seen if each.produces), chosen)


def _memory(tensor: Tensor) -> int:
    values = readable_values(tensor)
    try:
        return int((values if values is not None else tensor).untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):  # tensors without storage of their own
        return id(tensor)


def _is_fill(name: str) -> bool:
    return any(name.rpartition(".")[2].rstrip("_").startswith(each) for each in FILLS)


def user_line(stack: Sequence[traceback.FrameSummary] | None = None) -> str:
    """The innermost line that is neither torch's nor ours: file, line, function and text."""
    frames = traceback.extract_stack() if stack is None else stack
    for frame in reversed(frames):
        if not frame.filename.startswith((TORCH, OURS)) and not frame.filename.startswith("<"):
            return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {(frame.line or '').strip()}"
    return ""
