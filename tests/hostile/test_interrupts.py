"""Ctrl-C at any line of ours: the model stays usable, `close` leaves nothing behind, weights are what they would be.

A sample of all lines, each in a forked process; `python -m benchmarks.hostile --only lines` takes every one.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from tests.hostile.every_line import counted, outcomes, trials_of
from tests.hostile.interrupted import PROGRAMS, Interrupt
from torch import nn

from bedside.collect.reading.squared_norms import SquaredNorms

SAMPLES = 24  # of each program


@pytest.mark.filterwarnings("ignore")  # that it stopped recording
@pytest.mark.parametrize("which", PROGRAMS)
@pytest.mark.timeout(600)
def test_an_interrupt_at_any_line_harms_nothing(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bedside.collect.sampling.budget.FULL_RECORDING_SHARE", 0.0)
    monkeypatch.setattr("bedside.collect.sampling.budget.QUICK_STEP_SECONDS", 0.0)
    hits = counted(which, tmp_path / "counted")
    trials = random.Random(0).sample(trials_of(which, hits), SAMPLES)
    found = list(outcomes(trials, tmp_path, at_once=2))
    for trial, each in found:
        assert not each.broken, trial
        assert not each.left, trial
        assert not each.different, trial
    # How often a line is executed depends on the clock, too.
    assert sum(each.interrupted for _, each in found) >= SAMPLES / 2


def test_an_interrupt_while_norms_are_read_leaves_gradients_on():
    parameters = list(nn.Linear(6, 8).parameters())
    norms = SquaredNorms(parameters)
    norms.squares(parameters)
    with Interrupt() as counting:
        norms.squares(parameters)
    lines = [(line, hit) for line, count in counting.hits.items() for hit in range(1, count + 1)]
    assert len(lines) > 5
    for line, hit in lines:
        with Interrupt(line, hit), pytest.raises(KeyboardInterrupt):
            norms.squares(parameters)
        tracked = (2 * parameters[0]).requires_grad
        torch.set_grad_enabled(True)
        assert tracked, f"interrupted at {line}, time {hit}"
