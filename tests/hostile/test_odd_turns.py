"""What a training does only once, and a program says only by mistake: recording goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside


def test_a_group_that_is_added_between_steps_that_are_recorded_together(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model[0].parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, vitals=["loss"]) as monitor:
        for step in range(200):
            if step == 170:  # in the middle of the fast path
                optimizer.add_param_group({"params": list(model[2].parameters()), "lr": 0.01})
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,))).backward()
            optimizer.step()
        assert not monitor.dispatcher.off
    run = bedside.load(tmp_path / "run")
    assert run.steps == 200
    assert run.series("lr").values[-1] == 0.1
    assert run.series("lr", "group_1").values[-1] == 0.01


def test_a_number_that_no_float_can_hold_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        with pytest.raises(bedside.errors.BedsideError, match="huge"):
            monitor.log(huge=10**400)
        assert not monitor.dispatcher.off


def test_a_part_of_the_model_that_has_a_shape_and_no_numbers_switches_nothing_off(tmp_path: Path) -> None:
    model = nn.Linear(6, 3)
    model.unused = nn.Linear(3, 3, device="meta").requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        for _ in range(30):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,))).backward()
            optimizer.step()
    run = bedside.load(tmp_path / "run")
    assert run.steps == 30
    assert not run.events_of("switched_off")
    assert run.config["initial_param_norm"] > 0
