"""Several ranks: all of them skip a step, or none does. One number is exchanged at each step, and only with a guard on.

A rank that waits for one without a guard would wait for ever. So before the first exchange every rank writes a key into
the store through which they found each other; if some do not, the guard is not used, with one warning.
"""

from __future__ import annotations

from datetime import timedelta

import torch
from torch import Tensor
from torch import distributed as dist

from bedside.stderr import warn_safely

PATIENCE = timedelta(seconds=60)  # ranks reach their first step together, but one may still compile its model


class Ranks:
    """Makes one answer of those of all ranks."""

    made = 0  # guards of this process so far: the same number on every rank that does the same

    def __init__(self) -> None:
        self._number = Ranks.made
        Ranks.made += 1
        self._agreed: bool | None = None

    @property
    def several(self) -> bool:
        return bool(dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1)

    def any(self, flag: Tensor) -> Tensor:
        """Whether it holds on any rank."""
        if not self.several:
            return flag
        if self._agreed is None:
            self._agreed = self._everybody_guards()
        if not self._agreed:
            return torch.zeros_like(flag)
        together = flag.to(torch.float32)
        dist.all_reduce(together, op=dist.ReduceOp.MAX)
        return together > 0

    def _everybody_guards(self) -> bool:
        names = [f"bedside/guard/{self._number}/{rank}" for rank in range(dist.get_world_size())]
        try:
            store = dist.distributed_c10d._get_default_store()
            store.set(names[dist.get_rank()], "here")
            store.wait(names, PATIENCE)
        except Exception as error:  # some do not, or the store cannot be asked
            warn_safely(
                f"bedside guards no step: on_nan= has to be given on every rank ({type(error).__name__}: "
                f"{str(error).splitlines()[0][:120]})."
            )
            return False
        return True
