"""Costs are measured against the same training unwatched: then nothing of the watcher may be left on it."""

from __future__ import annotations

import pytest
import torch
from benchmarks.cost.limits import Transfers
from benchmarks.cost.others import ComposerFormula, NaiveBrief, NaiveEverything, NaiveFull
from benchmarks.cost.watchers import Bedside, NormsEveryStep, Watcher
from benchmarks.cost.worker import make
from benchmarks.cost.workloads import build
from torch.autograd import backward as untouched

from bedside.collect.reading.updates import TRUSTED_STEPS


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
        for _ in range(2 * TRUSTED_STEPS):
            make(one, training, one.monitor.step, 30)
            with one.away(training):
                make(Watcher(), training, 0, 2)
            one.resumed(0.0)
        (reader,) = one.monitor._steps._readers.values()
        assert reader._moved._trust == TRUSTED_STEPS, (
            "else they are copied before every step from then on, which costs more"
        )


def test_hooks_of_others_come_back(training):
    one = NaiveEverything()
    one.start(training)
    with one.away(training):
        make(Watcher(), training, 0, 1)
    assert not one.outputs
    make(one, training, 0, 1)
    assert one.outputs


# As counted of the prototypes for which the aims were set: two nets, of 6 and 524 tensors.
@pytest.mark.parametrize(("net", "waits"), [("mlp", 78), ("deep", 12_412)])
def test_the_naive_way_is_the_one_for_which_the_aims_were_set(net, waits, monkeypatch):
    training, one, copies = build(net, fused=True), NaiveFull(), []
    one.start(training)
    make(one, training, 0, 1)
    there = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: copies.append(tensor) or there(tensor))
    with Transfers() as numbers:
        make(one, training, 1, 1)
    assert numbers.count + len(copies) == waits


@pytest.mark.parametrize("kind", [NaiveBrief, NaiveFull])
def test_the_naive_norms_are_right(kind, training):
    training.clip = 1e-3
    one = kind()
    one.start(training)
    before = [p.detach().clone() for p in training.model.parameters()]
    make(one, training, 0, 1)
    after = [p.detach() for p in training.model.parameters()]
    whole = {
        "clipped": [p.grad for p in training.model.parameters()],
        "param": after,
        "update": [new - old for old, new in zip(before, after, strict=True)],
    }
    for name, tensors in whole.items():
        found = one.numbers.get(name, one.numbers.get(f"{name}/"))
        assert found == pytest.approx(float(torch.cat([t.flatten() for t in tensors]).norm()), rel=1e-4)
    assert one.numbers["grad/"] > training.clip, "before clipping"


def test_composers_formula_gives_the_step_of_adamw(training):
    for group in training.optimizer.param_groups:
        group["weight_decay"] = 0.0  # which it does not count as the optimizer does
    one = ComposerFormula()
    one.start(training)
    make(one, training, 0, 1)
    before = {name: p.detach().clone() for name, p in training.model.named_parameters()}
    make(one, training, 1, 1)
    for name, p in training.model.named_parameters():
        assert one.numbers[f"update/{name}"] == pytest.approx(float((p.detach() - before[name]).norm()), rel=1e-3)
