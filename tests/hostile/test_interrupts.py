"""Ctrl-C at any line of ours: the model stays usable, `close` leaves nothing behind, weights are what they would be.

A sample of all lines, each in a forked process; `python -m benchmarks.hostile --only lines` takes every one.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.hostile.every_line import counted, outcomes, trials_of
from tests.hostile.interrupted import PROGRAMS, Interrupt
from torch import nn

import bedside
from bedside.collect.reading.squared_norms import SquaredNorms
from bedside.record.sqlite.writer import Store

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


def test_an_interrupt_while_rows_are_noted_leaves_a_record_that_closes_and_opens(tmp_path: Path):
    def note(store: Store, first: int = 10) -> None:
        at = np.arange(first, first + 10)
        store.rows(store.declare("numbers", [("loss", "")], "f8"), at, at * 1.0, np.ones((10, 1)))

    store = Store.create(tmp_path / "counted")
    note(store, 0)
    with Interrupt() as counting:
        note(store)
    store.close()
    lines = [each for each in counting.hits if each[0].endswith("writer.py")]
    assert len(lines) > 10
    for number, line in enumerate(lines):
        store = Store.create(tmp_path / str(number))
        note(store, 0)
        with Interrupt(line), pytest.raises(KeyboardInterrupt):
            note(store)
        store.close(finished=False)
        loss = bedside.load(tmp_path / str(number)).loss
        assert loss.steps.tolist() in (list(range(10)), list(range(20)))
        assert (loss.values == 1).all()


def test_a_record_that_cannot_be_closed_costs_a_warning_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Linear(6, 3)
    monitor = bedside.watch(model, torch.optim.SGD(model.parameters(), 0.1), run_dir=tmp_path / "run", quiet=True)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("nothing to put together")

    monkeypatch.setattr(Store, "close", broken)
    with pytest.warns(RuntimeWarning, match="could not close the record"):
        monitor.close()
    assert not model._forward_hooks
    assert not vars(model).get("_compiled_call_impl")


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
