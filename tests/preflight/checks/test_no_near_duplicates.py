"""When no-near-duplicates speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.no_near_duplicates import no_near_duplicates
from bedside.preflight.example_setup import examined, examples, loader


def test_speaks_when_most_sentences_differ_by_one_word():
    words = torch.randint(0, 500, (200, 12), generator=torch.Generator().manual_seed(0))
    near = words[:80].clone()
    near[:, 5] = 499
    y = torch.zeros(200, dtype=torch.long)
    found = examined(no_near_duplicates, nn.EmbeddingBag(500, 3), x=words, y=y, val_loader=loader(near, y[:80]))
    assert isinstance(found, Finding)


def test_stays_silent_when_both_are_drawn_alike():
    x, y = examples(400)
    found = examined(no_near_duplicates, x=x[:300], y=y[:300], val_loader=loader(x[300:], y[300:]))
    assert isinstance(found, Passed)
    assert found.numbers["twins"] < 10


def test_stays_silent_when_points_crowd_in_two_dimensions():
    x = torch.rand(600, 2, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0.5).long()
    found = examined(no_near_duplicates, nn.Linear(2, 2), x=x[:500], y=y[:500], val_loader=loader(x[500:], y[500:]))
    assert isinstance(found, Passed)


def test_few_examples_are_not_examined():
    x, y = examples(20, seed=1)
    assert isinstance(examined(no_near_duplicates, val_loader=loader(x, y)), NotExamined)
