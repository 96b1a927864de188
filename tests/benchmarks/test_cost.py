"""Costs are measured against the same training unwatched: then nothing of the watcher may be left on it."""

from __future__ import annotations

import pytest
import torch
from benchmarks.cost.others import NaiveEverything
from benchmarks.cost.watchers import Bedside, NormsEveryStep, Watcher
from benchmarks.cost.worker import make
from benchmarks.cost.workloads import build
from torch.autograd import backward as untouched

from bedside.collect.moved import TRUST


@pytest.fixture
def training():
    return build("mlp", fused=False)


@pytest.mark.parametrize("kind", [Bedside, NormsEveryStep])
def test_steps_while_bedside_is_away_are_not_heard(kind, training, monkeypatch):
    monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    one = kind()
    one.start(training)
    with one.monitor:
        make(one, training, 0, 130)
        with one.away(training):
            assert torch.autograd.backward is untouched
            make(Watcher(), training, 0, 10)
        assert one.monitor.step == 130
        one.resumed(0.0)
        make(one, training, 130, 5)
        assert one.monitor.step == 135


def test_weights_that_moved_meanwhile_are_remembered_anew(training, monkeypatch):
    monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    one = NormsEveryStep()
    one.start(training)
    with one.monitor:
        for _ in range(2 * TRUST):
            make(one, training, one.monitor.step, 30)
            with one.away(training):
                make(Watcher(), training, 0, 2)
            one.resumed(0.0)
        (reader,) = one.monitor._steps._readers.values()
        assert reader._moved._trust == TRUST, "else they are copied before every step from then on, which costs more"


def test_hooks_of_others_come_back(training):
    one = NaiveEverything()
    one.start(training)
    with one.away(training):
        make(Watcher(), training, 0, 1)
    assert not one.outputs
    make(one, training, 0, 1)
    assert one.outputs
