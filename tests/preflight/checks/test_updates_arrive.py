"""When updates-arrive speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.updates_arrive import updates_arrive
from bedside.preflight.example_setup import examined, examples


def test_speaks_when_bfloat16_swallows_a_small_rate():
    x, y = examples()
    model = nn.Linear(8, 3).bfloat16()
    found = examined(
        updates_arrive, model, x=x.bfloat16(), y=y, optimizer=lambda m: torch.optim.Adam(m.parameters(), lr=1e-6)
    )
    assert isinstance(found, Finding)
    assert found.where == ("weight", "bias")


def test_stays_silent_with_usual_rates_in_float32():
    for rate in (1e-5, 1e-1):
        found = examined(updates_arrive, optimizer=lambda m, lr=rate: torch.optim.AdamW(m.parameters(), lr=lr))
        assert isinstance(found, Passed)


def test_a_rate_of_zero_and_a_closure_are_not_examined():
    still = examined(updates_arrive, optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.0))
    assert still.needs == ("a learning rate above zero at the first step",)
    assert isinstance(examined(updates_arrive, optimizer=lambda m: torch.optim.LBFGS(m.parameters())), NotExamined)
