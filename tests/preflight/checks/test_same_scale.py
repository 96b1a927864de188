"""When same-scale speaks and when it stays silent."""

from __future__ import annotations

import torch

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.same_scale import same_scale
from bedside.preflight.example_setup import examined, examples, loader

X, Y = examples(seed=7)


def test_speaks_when_the_spread_is_another():
    assert isinstance(examined(same_scale, val_loader=loader(X / 16, Y)), Finding)


def test_stays_silent_when_training_is_a_little_noisier():
    x, y = examples()
    noisy = x + 0.5 * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    assert isinstance(examined(same_scale, x=noisy, y=y, val_loader=loader(X, Y)), Passed)


def test_few_numbers_are_not_examined():
    assert isinstance(examined(same_scale, val_loader=loader(X[:2], Y[:2])), NotExamined)
