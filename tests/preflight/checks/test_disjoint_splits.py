"""When disjoint-splits speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.disjoint_splits import disjoint_splits
from bedside.preflight.example_setup import examined, examples, loader

WHOLE = TensorDataset(*examples(120))


def test_speaks_when_two_subsets_overlap():
    train, val = (DataLoader(Subset(WHOLE, range(*part)), 16) for part in ((0, 100), (90, 120)))
    found = examined(disjoint_splits, train_loader=train, val_loader=val)
    assert isinstance(found, Finding)
    assert found.evidence["shared"] == 10
    assert found.evidence["by"] == "positions of one data set"


def test_speaks_when_copies_are_in_both():
    x, y = examples()
    found = examined(disjoint_splits, val_loader=loader(x[:20].clone(), y[:20].clone()))
    assert found.evidence["shared"] == 20


def test_stays_silent_when_samplers_share_a_data_set_and_no_position():
    train, val = (DataLoader(WHOLE, 16, sampler=SubsetRandomSampler(range(*part))) for part in ((0, 90), (90, 120)))
    found = examined(disjoint_splits, train_loader=train, val_loader=val)
    assert isinstance(found, Passed)
    assert found.message == "90 training, 30 validation, none in both"


def test_stays_silent_when_inputs_repeat_by_nature():
    dice = torch.randint(1, 7, (400, 2)).float()
    sums = dice.sum(1).long() % 3
    found = examined(
        disjoint_splits, torch.nn.Linear(2, 3), x=dice[:300], y=sums[:300], val_loader=loader(dice[300:], sums[300:])
    )
    assert isinstance(found, Passed)
