"""Parameters of which this rank holds a part: FSDP2 (`fully_shard`) and tensor parallelism make DTensors of them.

Only the local part is ever read. A norm, a comparison or an `.item()` of a DTensor is a collective: it would hang the
training as soon as one rank did not take part. So a rank writes the norm of its share, and readers add up the ranks
(`record/across_ranks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bedside.record.missing import MISSING


def is_sharded(tensor: Any) -> bool:
    """Whether it is a DTensor, of which this rank may hold a part only."""
    return hasattr(tensor, "to_local")


def local(tensor: Tensor) -> Tensor:
    """What this rank holds of it; no communication."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def is_here(tensor: Tensor) -> bool:
    """Whether there are numbers to read at once: an empty part has none, and the result of a collective that torch has
    not waited for yet would make us wait."""
    return tensor.numel() > 0 and not hasattr(tensor, "trigger_wait")


def whole(tensor: Tensor) -> Tensor:
    """A DTensor that every rank holds whole, as clipping under FSDP2 returns; MISSING where it takes others to know."""
    if not is_sharded(tensor):
        return tensor
    known = all(each.is_replicate() for each in tensor.placements)
    return local(tensor) if known else torch.full_like(local(tensor), MISSING, dtype=torch.float64)


def unsummed(gradient: Tensor | None) -> bool:
    """Whether the true gradient is a sum over ranks that nobody has formed yet, as that of a norm layer under sequence
    parallelism: its norm cannot be known from the parts."""
    return gradient is not None and is_sharded(gradient) and any(each.is_partial() for each in gradient.placements)


def world_size() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size()
    return 1


def shares(parameters: Sequence[Tensor]) -> NDArray[np.float64] | None:
    """For each parameter one over the number of ranks that hold the same part as this one; None if all hold everything.

    Squares times these, added over all ranks, are the squares of the whole, however the parameters are laid out.
    """
    if not any(map(is_sharded, parameters)):
        return None
    return np.asarray([_shards(each) for each in parameters]) / world_size()


def _shards(parameter: Tensor) -> float:
    """Into how many different parts it is cut."""
    if not is_sharded(parameter):
        return 1.0
    sizes = zip(parameter.placements, parameter.device_mesh.shape, strict=True)
    return float(np.prod([size for placement, size in sizes if not placement.is_replicate()]))


def same_batch(model: nn.Module) -> list[int]:
    """The ranks that get the same batch as this one on purpose: its tensor-parallel group; this rank alone otherwise.

    FSDP2 takes the first dimensions of a mesh, those along which everything is replicated and one along which it is
    cut; what is left of the mesh, or all of it without FSDP2, belongs to tensor parallelism.
    """
    sharded = [each for each in model.parameters() if is_sharded(each)]
    if not sharded:
        return []
    from torch.distributed.fsdp import FSDPModule

    mesh = max((each.device_mesh for each in sharded), key=lambda mesh: mesh.ndim)
    first = 0
    if any(isinstance(each, FSDPModule) for each in model.modules()):
        whole = [each for each in sharded if each.device_mesh.ndim == mesh.ndim]
        while first < mesh.ndim - 1 and all(each.placements[first].is_replicate() for each in whole):
            first += 1
        first += 1
    here = mesh.get_coordinate()
    if here is None:
        return []
    return [int(rank) for rank in mesh.mesh[tuple(here[:first])].flatten().tolist()]
