"""When still-validation speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.still_validation import still_validation
from bedside.preflight.example_setup import examined, examples, loader


class Masked(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.randint(0, 9, (5,)), i % 3


class Stream(IterableDataset):
    def __init__(self, noise):
        self.noise = noise

    def __iter__(self):
        for i in range(64):
            yield torch.full((8,), float(i)) + self.noise * torch.randn(8), i % 3


def test_speaks_when_a_stream_is_noisy():
    found = examined(still_validation, val_loader=DataLoader(Stream(0.1), 16))
    assert found.severity is Severity.WARNING


def test_random_tokens_are_a_note():
    assert examined(still_validation, val_loader=DataLoader(Masked(), 16)).severity is Severity.NOTE


def test_stays_silent_when_only_the_order_changes():
    x, y = examples()
    assert isinstance(examined(still_validation, val_loader=loader(x, y, shuffle=True)), Passed)
    assert isinstance(examined(still_validation, val_loader=DataLoader(Stream(0.0), 16)), Passed)
    assert isinstance(examined(still_validation, val_loader=[(x, y)]), Passed)
