"""When worker-seeds speaks and when it stays silent."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.worker_seeds import worker_seeds
from bedside.preflight.example_setup import examined, examples

DATA = TensorDataset(*examples())


class Carries(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.as_tensor(self.rng.normal(size=8), dtype=torch.float32), i % 3


def test_speaks_when_the_data_set_carries_a_generator():
    found = examined(worker_seeds, train_loader=DataLoader(Carries(), 16, num_workers=2))
    assert isinstance(found, Finding)
    assert "`rng`" in found.message


def test_stays_silent_when_workers_are_seeded_apart():
    def apart(worker):
        np.random.seed(torch.initial_seed() % 2**32)

    assert isinstance(examined(worker_seeds, train_loader=DataLoader(DATA, 16, num_workers=2)), Passed)
    seeded_apart = DataLoader(DATA, 16, num_workers=2, worker_init_fn=apart)
    assert isinstance(examined(worker_seeds, train_loader=seeded_apart), Passed)


def test_a_loader_without_workers_is_not_examined():
    assert isinstance(examined(worker_seeds), NotExamined)
