"""Numbers of a tensor on the CPU as numpy sees them, where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def array_view(tensor: Tensor) -> NDArray[Any]:
    """To be read and not kept beyond the tensor. `Tensor.numpy` would forbid whoever holds the tensor to resize its
    memory from then on, as reversible nets and sharding do; this way it stays theirs."""
    try:
        return np.from_dlpack(tensor.detach())
    except (BufferError, RuntimeError, TypeError):  # of a kind that numpy gets as a copy, if at all
        return np.asarray(tensor.numpy(force=True))
