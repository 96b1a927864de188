"""The random numbers of a process: torch's, those of each CUDA device in use, numpy's and Python's own."""

from __future__ import annotations

import random

import numpy as np
import torch

from bedside.training.saved import Restore


def save_random_state() -> Restore:
    """A function that makes all of them go on as they would have from here."""
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    python, legacy = random.getstate(), np.random.get_state()

    def restore() -> None:
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        random.setstate(python)
        np.random.set_state(legacy)

    return restore
