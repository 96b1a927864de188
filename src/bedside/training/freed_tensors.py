"""Tensors whose memory was given back while they stayed, as reversible nets and sharding do: reading one ends the
process, whoever reads it, so nothing of ours may.
"""

from __future__ import annotations

from torch import Tensor


def is_freed(tensor: Tensor) -> bool:
    """Whether there is nothing where its numbers should be."""
    try:
        return tensor.data_ptr() == 0 and tensor.numel() > 0 and tensor.device.type != "meta"
    except RuntimeError:  # it has no storage of its own: sparse ones and wrappers look after theirs
        return False
