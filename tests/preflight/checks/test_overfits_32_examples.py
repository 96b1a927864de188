"""When overfits-32-examples speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.overfits_32_examples import overfits_32_examples
from bedside.preflight.example_setup import examined


def test_speaks_when_the_output_cannot_reach_the_targets():
    model = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
    y = 20 + torch.randn(96, 1, generator=torch.Generator().manual_seed(0))
    assert isinstance(examined(overfits_32_examples, model, y=y, loss_fn=nn.MSELoss(), depth="full"), Finding)


def test_stays_silent_when_two_batches_of_sixteen_are_learned():
    found = examined(overfits_32_examples, depth="full")
    assert isinstance(found, Passed)
    assert found.message.startswith("32 examples: ")


def test_is_not_examined_in_fast_depth():
    assert examined(overfits_32_examples).needs == ("depth='full'",)
