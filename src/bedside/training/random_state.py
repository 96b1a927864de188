"""The random numbers of a process: torch's, those of each CUDA device in use, numpy's and Python's own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.training.saved_values import Restore


@dataclass(frozen=True)
class RandomState:
    """Where every generator stood at one moment."""

    cpu: Tensor
    cuda: Sequence[Tensor]
    python: tuple[Any, ...]
    numpy: dict[str, Any]  # the global generator's, as plain data

    def restore(self) -> None:
        """All of them go on as they would have from there; devices that this machine lacks are left out."""
        torch.set_rng_state(self.cpu)
        if self.cuda and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(list(self.cuda[: torch.cuda.device_count()]))
        random.setstate(self.python)
        np.random.set_state(self.numpy)


def random_state() -> RandomState:
    """Where they stand now."""
    in_use = torch.cuda.is_available() and torch.cuda.is_initialized()
    cuda = torch.cuda.get_rng_state_all() if in_use else []
    return RandomState(torch.get_rng_state(), cuda, random.getstate(), np.random.get_state(legacy=False))


def save_random_state() -> Restore:
    """A function that makes all of them go on as they would have from here."""
    return random_state().restore
