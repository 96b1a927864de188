"""An interrupt in our own code ends watching once: one note, one warning, and nothing left on the model."""

from __future__ import annotations

import warnings

import pytest
import torch
from tests.collect.models import CASES, mlp
from torch.nn import functional as F

import bedside
from bedside.collect.hooks import called_modules
from bedside.collect.hooks.call_slot import SLOT, STANDING


def a_step(model, optimizer):
    inputs, targets = CASES["mlp"].batch()
    optimizer.zero_grad()
    F.cross_entropy(model(inputs), targets).backward()
    optimizer.step()


def test_an_interrupt_that_passes_two_handlers_is_told_once(tmp_path, monkeypatch):
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    a_step(model, optimizer)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(monitor.dispatcher.steps, "after", interrupt)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            a_step(model, optimizer)
        a_step(model, optimizer)
        monitor.close()
    assert len([each for each in said if "interrupted" in str(each.message)]) == 1
    assert len(bedside.load(tmp_path / "run").events_of("switched_off")) == 1


@pytest.mark.parametrize("calls", [1, 2])
def test_an_interrupt_right_after_a_slot_was_put_on_leaves_none(calls, tmp_path, monkeypatch):
    stood = []

    def stand(slot):
        real(slot)
        stood.append(slot)
        if len(stood) == calls:
            raise KeyboardInterrupt

    def train(model, optimizer, run_dir):
        bedside.watch(model, optimizer, run_dir=run_dir, quiet=True)
        for _ in range(10):  # called at the layers, not at the root: all of them are observed for a step
            inputs, targets = CASES["mlp"].batch()
            for layer in model:
                inputs = layer(inputs)
            F.cross_entropy(inputs, targets).backward()
            optimizer.step()

    real = called_modules.stand
    monkeypatch.setattr(called_modules, "stand", stand)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            train(model, optimizer, tmp_path / "run")
    assert not STANDING
    assert all(SLOT not in vars(module) for module in model.modules())
