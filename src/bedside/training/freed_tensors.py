"""Tensors whose memory was given back while they stayed, as reversible nets and sharding do: reading one ends the
process, whoever reads it, so nothing of ours may.
"""

from __future__ import annotations

from torch import Tensor, nn

PLAIN = (Tensor, nn.Parameter)  # wrappers have no memory of their own, and what they wrap looks after its own


def is_freed(tensor: Tensor) -> bool:
    """Whether there is nothing where its numbers should be."""
    if type(tensor) not in PLAIN or tensor.is_meta:
        return False
    try:
        return bool(tensor.data_ptr() == 0 and tensor.numel() > 0)
    except RuntimeError:  # sparse, or of a kind that has no address
        return False
