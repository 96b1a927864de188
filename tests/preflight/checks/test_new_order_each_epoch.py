"""When new-order-each-epoch speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.new_order_each_epoch import new_order_each_epoch
from bedside.preflight.example_setup import examined, examples

DATA = TensorDataset(*examples())


class Reseeded(RandomSampler):
    def __iter__(self):
        self.generator = torch.Generator().manual_seed(0)
        return super().__iter__()


def test_speaks_when_something_resets_the_random_numbers():
    found = examined(new_order_each_epoch, train_loader=DataLoader(DATA, 16, sampler=Reseeded(DATA)))
    assert found.severity is Severity.WARNING


def test_a_sampler_that_wants_the_epoch_is_a_note_and_keeps_its_epoch():
    sampler = DistributedSampler(DATA, num_replicas=2, rank=0)
    found = examined(new_order_each_epoch, train_loader=DataLoader(DATA, 16, sampler=sampler))
    assert found.severity is Severity.NOTE
    assert sampler.epoch == 0


def test_stays_silent_when_epochs_differ():
    assert isinstance(examined(new_order_each_epoch), Passed)


def test_a_loader_that_does_not_shuffle_is_not_examined():
    assert isinstance(examined(new_order_each_epoch, shuffle=False), NotExamined)
