"""The loader's worker processes draw different random numbers.

## What it sees
Workers that would augment alike: a `worker_init_fn` that gives all of them one seed, or a data set that carries a
random generator of its own, which every worker gets a copy of.

## Why it matters
With four workers that draw the same numbers, each random crop is used four times. Nothing fails; there is a quarter of
the augmentation.

## How it decides
Torch itself seeds Python, torch and numpy differently in each worker. So it looks for a generator among the attributes
of the data set, and runs a `worker_init_fn` for two workers in turn, comparing what is drawn after it.

## When it is wrong
A generator that the data set only uses when it is made; a `worker_init_fn` that reseeds that generator by worker.

## What to try
1. Draw from torch's, numpy's or Python's global random numbers inside `__getitem__`.
2. `worker_init_fn=lambda worker: np.random.seed(torch.initial_seed() % 2**32)`: different for each worker and epoch.

## Example
>>> import numpy as np
>>> from torch.utils.data import DataLoader, TensorDataset
>>> from bedside.preflight.example_setup import examined, examples
>>> same = DataLoader(TensorDataset(*examples()), 16, num_workers=2, worker_init_fn=lambda worker: np.random.seed(0))
>>> print(examined(worker_seeds, train_loader=same))
PRE503 worker-seeds: worker_init_fn gives every worker the same random numbers of numpy.

## References
- PyTorch documentation, DataLoader: randomness in multi-process data loading.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import Setup
from bedside.training.random_state import save_random_state
from bedside.wording import listed

GENERATORS = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)
DRAWS: dict[str, Callable[[], float]] = {
    "torch": lambda: float(torch.rand(())),
    "numpy": lambda: float(np.random.random()),
    "Python": random.random,
}


@dataclass(frozen=True)
class Limits:
    workers: int = 2  # one worker has nobody to agree with


@check("PRE503", severity=Severity.WARNING, limits=Limits())
def worker_seeds(setup: Setup, limits: Limits) -> Passed | Finding:
    loader = setup.train_loader
    if not isinstance(loader, DataLoader) or loader.num_workers < limits.workers:
        raise NotEnough("a DataLoader with two workers or more")
    alike = _alike(loader.worker_init_fn) if loader.worker_init_fn is not None else []
    if alike:
        return _finding(f"worker_init_fn gives every worker the same random numbers of {listed(alike)}.", 0.95)
    held = _generators(loader.dataset)
    if held and loader.worker_init_fn is None:
        names = listed(f"`{name}`" for name in held)
        return _finding(f"The data set has a generator of its own ({names}), which every worker gets a copy of.", 0.75)
    return worker_seeds.passed(f"{loader.num_workers} workers, seeded by torch", workers=loader.num_workers)


def _alike(initialise: Callable[[int], Any]) -> list[str]:
    """Whose random numbers are the same for two workers, after torch has seeded each as it does."""
    drawn: list[dict[str, float]] = []
    restore = save_random_state()
    try:
        for worker in range(2):
            torch.manual_seed(1000 + worker)
            random.seed(1000 + worker)
            np.random.seed(1000 + worker)
            initialise(worker)
            drawn.append({name: draw() for name, draw in DRAWS.items()})
    except Exception:  # one that only works inside a worker
        return []
    finally:
        restore()
    return [name for name in DRAWS if drawn[0][name] == drawn[1][name]]


def _generators(dataset: Any) -> list[str]:
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return [name for name, value in getattr(dataset, "__dict__", {}).items() if isinstance(value, GENERATORS)]


def _finding(message: str, confidence: float) -> Finding:
    return worker_seeds.finding(
        message,
        confidence=confidence,
        could_also_be=("A generator that is only used when the data set is made.",),
        try_=(
            "Draw from the global random numbers inside __getitem__: torch seeds them differently in each worker.",
            "worker_init_fn=lambda worker: np.random.seed(torch.initial_seed() % 2**32).",
        ),
    )
