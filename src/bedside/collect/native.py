"""The same sums by machine code, where numba is installed: one pass over each tensor, one call for all of them.

Plain torch and numpy pay for every call and for every buffer in between. Here the addresses of many tensors go into one
call that reads each once. Blocks of squares are added up in float32 and their sums in float64, as the plain way does.

Addresses are read anew for every call, while the tensors are held: a kept one could point to memory that has been given
back. Only float32 on the CPU, lying in one piece, is taken; everything else goes the plain way.

numba takes a second to load, and several to compile when it is used for the first time (the result is kept on disk).
That happens in a thread of its own, once the plain way has taken as long as loading does; until it is done, and
whenever it fails, the plain way is taken. `BEDSIDE_NATIVE=0` in the environment turns it off.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]

SAFE = (1e-30, 1e37)  # sums in between lost nothing: float32 squares vanish below 1e-38 and overflow above 3e38
BLOCK = 1024  # elements: a float32 sum of this many, in the lanes of a register, errs by 1e-7 at most

Kernels = tuple[Callable[..., None], Callable[..., None], Callable[..., None]]

_kernels: Kernels | None = None
_begun = False


def available() -> bool:
    """Whether it can be had at all; asks without loading anything."""
    return os.environ.get("BEDSIDE_NATIVE", "1") != "0" and importlib.util.find_spec("numba") is not None


def ready() -> bool:
    return _kernels is not None


def load_in_background() -> None:
    """Begin to load, once; training goes on meanwhile."""
    global _begun
    if not _begun and available():
        _begun = True
        threading.Thread(target=load, name="bedside-native", daemon=True).start()


def load() -> bool:
    """Load and compile now. Says whether there is anything to use; what fails leaves the plain way."""
    global _kernels
    if _kernels is None and available():
        try:
            _kernels = _compiled()
        except Exception:  # an unusual platform, a numba that does not fit: the numbers are the same without
            return False
    return _kernels is not None


def suits(tensor: Tensor | None) -> bool:
    """Whether the kernels can read this one."""
    if tensor is None or tensor.dtype is not torch.float32 or not tensor.is_cpu or tensor.layout is not torch.strided:
        return False
    in_one_piece = tensor.is_contiguous() or (
        tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )
    return in_one_piece and not hasattr(tensor, "to_local")


def all_suit(tensors: Sequence[Tensor | None]) -> bool:
    """Whether they all do and are there, when they belong to plain parameters on the CPU; asked without a loop."""
    try:
        return set(map(_dtype, tensors)) <= {torch.float32} and all(map(_is_contiguous, tensors))  # type: ignore[arg-type]
    except (TypeError, AttributeError, RuntimeError):  # one is None, or sparse
        return False


def squares(tensors: Sequence[Tensor], sizes: NDArray[np.int64] | None = None) -> Floats:
    """Squared norms of tensors that suit; their sizes, if they are known."""
    assert _kernels is not None
    out = np.empty(len(tensors))
    _kernels[0](_addresses(tensors), _sizes(tensors) if sizes is None else sizes, out)
    return out


class Pairs:
    """Buffers, each for one parameter. Their addresses stay; when those of the parameters are the ones of last time,
    nothing else needs to be asked."""

    def __init__(self, olds: Sequence[Tensor]) -> None:
        self._olds = olds
        self._suited = all(map(suits, olds)) and all(map(_is_contiguous, olds))
        self._known: list[int] = []
        if self._suited:
            # Sizes, addresses before, now, and of gradients: in one array, since every argument of a call costs.
            nothing = np.zeros(len(olds), np.int64)
            self._plan = np.stack([_sizes(olds), _addresses(olds), nothing, nothing])

    def remember(self, news: Sequence[Tensor], addresses: list[int]) -> bool:
        """Copy all, which lie there; says whether that could be done."""
        if self._find(news, addresses):
            assert _kernels is not None
            _kernels[2](self._plan)
            return True
        return False

    def measure(
        self, news: Sequence[Tensor], addresses: list[int], gradients: Sequence[Tensor | None] | None = None
    ) -> Floats | None:
        """Squared norms of `new - old`, of `new` and of the gradients, if these are given: a row each. None if that
        cannot be done; otherwise `old` becomes `new`."""
        if not self._find(news, addresses):
            return None
        assert _kernels is not None
        if gradients is None:
            found = np.empty((2, len(news)))
        elif all_suit(gradients):
            found = np.empty((3, len(news)))
            self._plan[3] = list(map(_data_ptr, gradients))  # type: ignore[arg-type]
        else:
            return None
        _kernels[1](self._plan, found)
        return found

    def _find(self, news: Sequence[Tensor], addresses: list[int]) -> bool:
        if not self._suited:
            return False
        if addresses is not self._known:
            if not all(map(suits, news)) or not all(map(_is_contiguous, news)):
                return False
            self._known, self._plan[2] = addresses, addresses
        return True


_dtype = attrgetter("dtype")
_data_ptr = torch.Tensor.data_ptr
_is_contiguous = torch.Tensor.is_contiguous


def _addresses(tensors: Sequence[Tensor]) -> NDArray[np.int64]:
    return np.asarray(list(map(_data_ptr, tensors)), np.int64)


def _sizes(tensors: Sequence[Tensor]) -> NDArray[np.int64]:
    return np.asarray([tensor.numel() for tensor in tensors], np.int64)


def _compiled() -> Kernels:
    from numba import carray, njit, types
    from numba.extending import intrinsic

    @intrinsic
    def floats_at(context: Any, address: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], target.get_value_type(signature.return_type))

        return types.CPointer(types.float32)(address), generate

    # Sums may be taken in any order, which lets the compiler use wide registers; NaN and infinity stay what they are.
    options = {"fastmath": {"reassoc", "contract"}, "nogil": True, "cache": True}
    whole, real = types.int64[::1], types.float64[::1]
    block, least, most = BLOCK, np.float32(SAFE[0]), np.float32(SAFE[1])

    # Blocks of a fixed length are added up in float32, twice as many numbers at a time; what leaves its range, or is
    # less than a block, in float64.

    @njit(**options)
    def exactly(values: Any) -> float:
        total = 0.0
        for j in range(len(values)):
            value = np.float64(values[j])
            total += value * value
        return total

    @njit(**options)
    def exact_change(old: Any, new: Any) -> float:
        total = 0.0
        for j in range(len(new)):
            difference = np.float64(np.float32(new[j] - old[j]))
            total += difference * difference
        return total

    @njit(**options)
    def squares_at(address: int, length: int) -> float:
        values = carray(floats_at(address), (length,))
        blocks, total = length // block, 0.0
        for k in range(blocks):
            start, sum_here = k * block, np.float32(0)
            for j in range(block):
                value = values[start + j]
                sum_here += value * value
            if least < sum_here < most:
                total += np.float64(sum_here)
            else:
                total += exactly(values[start : start + block])
        return total + exactly(values[blocks * block :])

    @njit(types.void(whole, whole, real), **options)
    def sum_squares(addresses: Any, sizes: Any, out: Any) -> None:
        for i in range(len(sizes)):
            out[i] = squares_at(addresses[i], sizes[i])

    @njit(types.void(types.int64[:, ::1], types.float64[:, ::1]), **options)
    def sum_changes(plan: Any, out: Any) -> None:
        for i in range(plan.shape[1]):
            length = plan[0, i]
            old = carray(floats_at(plan[1, i]), (length,))
            new = carray(floats_at(plan[2, i]), (length,))
            blocks, moved, total = length // block, 0.0, 0.0
            for k in range(blocks):
                start, moved_here, sum_here = k * block, np.float32(0), np.float32(0)
                for j in range(block):
                    value = new[start + j]
                    difference = value - old[start + j]
                    moved_here += difference * difference
                    sum_here += value * value
                if least < moved_here < most:
                    moved += np.float64(moved_here)
                else:
                    moved += exact_change(old[start : start + block], new[start : start + block])
                if least < sum_here < most:
                    total += np.float64(sum_here)
                else:
                    total += exactly(new[start : start + block])
                for j in range(block):
                    old[start + j] = new[start + j]
            old_rest, new_rest = old[blocks * block :], new[blocks * block :]
            out[0, i] = moved + exact_change(old_rest, new_rest)
            out[1, i] = total + exactly(new_rest)
            for j in range(len(new_rest)):
                old_rest[j] = new_rest[j]
            if len(out) == 3:
                out[2, i] = squares_at(plan[3, i], length)

    @njit(types.void(types.int64[:, ::1]), **options)
    def copy(plan: Any) -> None:
        for i in range(plan.shape[1]):
            target = carray(floats_at(plan[1, i]), (plan[0, i],))
            source = carray(floats_at(plan[2, i]), (plan[0, i],))
            for j in range(plan[0, i]):
                target[j] = source[j]

    return sum_squares, sum_changes, copy
