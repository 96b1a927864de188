"""Several open monitors: those whose models are not being trained are passed over, and miss nothing when they are."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.hooks import torch_patches as patches
from bedside.monitor.idle import FOREIGN_BACKWARDS
from bedside.monitor.monitor import monitors
from bedside.record.sqlite.reader import open_run


def pair(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, steps=FOREIGN_BACKWARDS + 5):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 20)), torch.randint(3, (8,)))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def awake():
    return list(patches.ACTIVE)


@pytest.fixture
def watched(tmp_path):
    """Three models, all watched: (model, optimizer, monitor) of each."""
    made = []
    for number in range(3):
        model, optimizer = pair(number)
        made.append((model, optimizer, bedside.watch(model, optimizer, run_dir=tmp_path / str(number), quiet=True)))
        train(model, optimizer, 5)
    yield made
    for _, _, monitor in made:
        monitor.close()


def test_monitors_whose_models_are_not_trained_rest(watched):
    train(*watched[0][:2])
    assert awake() == [watched[0][2].dispatcher]
    assert len(monitors()) == 3  # open they are


def test_a_resting_monitor_gets_no_call(watched, monkeypatch):
    train(*watched[0][:2])
    calls = []
    for _, _, monitor in watched[1:]:
        monkeypatch.setattr(monitor.dispatcher, "before_backward", lambda *args: calls.append("backward"))
        monkeypatch.setattr(monitor.dispatcher, "loss_computed", lambda *args: calls.append("loss"))
    train(*watched[0][:2], steps=5)
    assert not calls


def test_one_that_rests_alone_leaves_the_training_of_others_untouched(watched):
    model, optimizer = pair(7)
    train(model, optimizer)
    assert not awake()
    assert len(train(*watched[1][:2], steps=1)) == 1
    assert awake() == [watched[1][2].dispatcher]


@pytest.mark.parametrize("steps", [FOREIGN_BACKWARDS + 5, 150])  # at ordinary steps and on the fast path
def test_trainings_that_take_turns_are_recorded_in_full(watched, tmp_path, steps):
    expected = {number: [] for number in range(3)}
    for _ in range(2):
        for number, (model, optimizer, _) in enumerate(watched):
            expected[number] += train(model, optimizer, steps)
    for number, (_, _, monitor) in enumerate(watched):
        monitor.close()
        run = open_run(tmp_path / str(number))
        assert not run.events_of("switched_off")
        recorded = run.loss.values.tolist()
        assert len(recorded) == 5 + 2 * steps
        assert recorded[5:] == pytest.approx(expected[number], rel=1e-6)


def test_a_forward_that_waits_for_its_backward_keeps_its_monitor_awake(watched, tmp_path):
    model, optimizer, monitor = watched[1]
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(8, 20)), torch.randint(3, (8,)))
    train(*watched[0][:2])  # an inner loop
    loss.backward()
    optimizer.step()
    monitor.close()
    assert open_run(tmp_path / "1").loss.values[-1] == pytest.approx(loss.item(), rel=1e-6)


def test_a_model_of_which_no_forward_is_ever_seen_keeps_its_monitor_awake(tmp_path):
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(20, 3))

        def encode(self, inputs):
            return inputs @ self.weight

    model, other = Encoder(), pair(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def stage():
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(model.encode(torch.randn(8, 20)), torch.randint(3, (8,))).backward()
            optimizer.step()
        train(*other)

    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        with pytest.warns(RuntimeWarning, match="No forward of Encoder"):
            stage()
        stage()
    losses = open_run(tmp_path / "run").loss.values
    assert len(losses) == 20
    assert np.isfinite(losses).all()


def test_the_weights_are_as_without_monitors(watched):
    kept = [copy.deepcopy((model, optimizer)) for model, optimizer, _ in watched]
    for pairs in ([each[:2] for each in watched], kept):
        torch.manual_seed(3)
        for _ in range(2):
            for model, optimizer in pairs:
                train(model, optimizer)
    for (model, _, _), (copied, _) in zip(watched, kept, strict=True):
        for one, other in zip(model.parameters(), copied.parameters(), strict=True):
            assert torch.equal(one, other)
