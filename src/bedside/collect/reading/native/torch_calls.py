"""Functions of torch's own libraries that native code can call, to ask many gradients where they lie.

Asked by Python, a gradient takes 0.2 µs in a tight loop: where tensors are many and small, twice as long as reading all
of them. What is called here instead are `grad` of torch's tensor and questions of its C interface (`aoti_torch_…`). A
tensor is handed over as the place within Python's object at which that keeps torch's own, so it is the right one for as
long as the object lives, whatever torch puts there.

All this is torch's private matter. It is used only with versions of torch with which it was tried, and every list of
parameters is asked both ways first (`native/sums.py`).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Addresses = NDArray[np.int64]

TRIED = ("2.13.",)  # versions of torch
GRADIENT = "_ZNK3c1010TensorImpl4gradEv"  # c10::TensorImpl::grad() const: the place where a tensor keeps its gradient
# In the order in which kernels.py asks.
QUESTIONS = ("is_defined", "get_dtype", "get_layout", "is_contiguous", "get_numel", "get_data_ptr")
WORD = 8  # bytes


@cache
def functions() -> Addresses | None:
    """Where the function for the gradient and those for the questions lie; None where that is not known."""
    if sys.platform != "linux" or not torch.__version__.startswith(TRIED):
        return None
    folder = Path(torch.__file__).parent / "lib"
    try:
        core, library = (ctypes.CDLL(str(folder / name)) for name in ("libc10.so", "libtorch_cpu.so"))
        found = [getattr(core, GRADIENT), *(getattr(library, f"aoti_torch_{name}") for name in QUESTIONS)]
    except (OSError, AttributeError):  # built otherwise
        return None
    return np.asarray([ctypes.cast(each, ctypes.c_void_p).value for each in found], np.int64)


def cells(tensors: Sequence[Tensor]) -> Addresses | None:
    """Where these objects keep torch's own tensors; None where that is not known."""
    words = [_words(tensor) for tensor in tensors]
    inner = [tensor._cdata for tensor in tensors]
    for place in range(len(words[0]) if words else 0):
        if [each[place] for each in words] == inner:
            return np.asarray([id(tensor) + place * WORD for tensor in tensors], np.int64)
    return None


def _words(tensor: Tensor) -> list[int]:
    """The memory of the object, as far as all tensors have it in common."""
    return list((ctypes.c_int64 * (torch._C.TensorBase.__basicsize__ // WORD)).from_address(id(tensor)))
