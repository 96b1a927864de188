"""Swallowed updates and underflowed moments, against every element of every parameter."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def train(model, optimizer, tmp_path, steps=3, dtype=torch.float32, after=None):
    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(16, 12, dtype=dtype)).square().mean().backward()
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        optimizer.step()
        if after is not None:
            after(step, before)

    return watched(model, optimizer, tmp_path, body, steps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_swallowed_updates_equal_those_counted_element_by_element(dtype, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 4)).to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)
    expected = []

    def after(step, before):
        shares = {}
        for owner in ("0", "2"):
            layer = model.get_submodule(owner)
            pairs = [(p, before[f"{owner}.{name}"], p.grad != 0) for name, p in layer.named_parameters()]
            lost = sum(int(((p == old) & moved).sum()) for p, old, moved in pairs)
            shares[owner] = lost / sum(int(moved.sum()) for *_, moved in pairs)
        expected.append(shares)

    run = train(model, optimizer, tmp_path, dtype=dtype, after=after)
    for owner in ("0", "2"):
        assert run.series("swallowed_fraction", owner).values.tolist() == pytest.approx([e[owner] for e in expected])
    last = run.series("swallowed_fraction", "0").last
    assert last > 0.5 if dtype is torch.bfloat16 else last < 0.01


def test_second_moments_that_underflow_are_counted(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 20)).to(torch.float16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)

    def scaled(step, monitor):
        optimizer.zero_grad()
        (model(torch.randn(16, 12, dtype=torch.float16)).float().square().mean() * 1e-2).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, scaled, 2)
    state = [optimizer.state[p]["exp_avg_sq"] for p in model.parameters()]
    # The last gradients are still there: of those that are not zero, whose moment is?
    pairs = list(zip(model.parameters(), state, strict=True))
    zero = sum(int(((v == 0) & (p.grad != 0)).sum()) for p, v in pairs)
    moved = sum(int((p.grad != 0).sum()) for p, _ in pairs)
    assert run.series("underflowed_fraction", "0").last == pytest.approx(zero / moved)
    assert zero / moved > 0.3


def test_an_optimizer_without_a_second_moment_has_no_reading(tmp_path):
    model = nn.Sequential(nn.Linear(12, 4))
    run = train(model, torch.optim.SGD(model.parameters(), lr=0.1), tmp_path)
    assert run.has("swallowed_fraction", per_owner=True)
    assert not run.has("underflowed_fraction", per_owner=True)


def rounding(tmp_path, kind, always):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    expected = []

    def after(step, before):
        with torch.no_grad():
            for p in model.parameters() if always or step == 0 else ():
                p.copy_(p.to(kind))
        pairs = [(p, before[name], p.grad != 0) for name, p in model.named_parameters()]
        lost = sum(int(((p == old) & moved).sum()) for p, old, moved in pairs[:2])
        expected.append(lost / sum(int(moved.sum()) for *_, moved in pairs[:2]))

    run = train(model, optimizer, tmp_path, steps=6, after=after)
    return run, expected


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_weights_that_are_rounded_after_every_step_swallow_what_is_rounded_back(kind, tmp_path):
    run, expected = rounding(tmp_path, kind, always=True)
    [event] = run.events_of("rounded_weights")
    assert event.data["type"] == str(kind).removeprefix("torch.")
    assert run.series("swallowed_fraction", "0").values[1:].tolist() == pytest.approx(expected[1:])
    assert expected[-1] > 0.2


def test_weights_that_came_from_half_precision_once_are_not_rounded(tmp_path):
    run, _ = rounding(tmp_path, torch.bfloat16, always=False)
    assert not run.events_of("rounded_weights")
    assert run.series("swallowed_fraction", "0").last < 0.01
