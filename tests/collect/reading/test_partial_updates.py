"""Large models: every parameter's update is measured once a round, in half a byte per parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import norm, owners
from torch.nn import functional as F

import bedside
from bedside.collect.reading import partial_updates
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.partial_updates import PARTS, PartialUpdates, divided
from bedside.collect.step import optimizer_step as steps
from bedside.record.sqlite.reader import open_run


def test_parts_are_equal_and_cover_everything_once():
    sizes = [1000, 3, 0, 50_000, 7]
    parts = divided(sizes)
    lengths = [sum(stop - start for _, start, stop in part) for part in parts]
    assert max(lengths) - min(lengths) <= 1
    covered = [np.zeros(size, int) for size in sizes]
    for part in parts:
        for tensor, start, stop in part:
            covered[tensor][start:stop] += 1
    assert all((each == 1).all() for each in covered)


def test_what_is_remembered_takes_half_a_byte_per_parameter():
    parameters = [torch.randn(100_000), torch.randn(37), torch.randn(300, 200)]
    partial_updates = PartialUpdates(parameters)
    total = sum(p.numel() for p in parameters)
    for part in range(PARTS):
        partial_updates.remember(parameters, part)
        held = sum(old.numel() * old.element_size() for old in partial_updates._old)
        assert held <= 0.5 * total + 4
        partial_updates.measure(parameters, part)
        assert not partial_updates._old


@pytest.fixture
def large(monkeypatch):
    """Every model counts as a large one."""
    monkeypatch.setattr(steps, "WHOLE_UP_TO", 0)


def watched(kind, folder, steps=3 * PARTS, **options):
    torch.manual_seed(0)
    case = CASES[kind]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    moves = []  # per step and parameter: squared update, squared weight
    monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True, **options)
    for _ in range(steps):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        old = [p.detach().clone() for p in model.parameters()]
        optimizer.step()
        moves.append([(p.detach() - o, p.detach().clone()) for p, o in zip(model.parameters(), old, strict=True)])
    monitor.close()
    run = open_run(folder)
    assert not run.events_of("switched_off"), run.events_of("switched_off")
    return model, moves, run


@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
@pytest.mark.parametrize("natively", [False, True])
def test_the_rows_are_what_adding_up_the_parts_gives(kind, natively, large, tmp_path, monkeypatch):
    if natively and not native.load():
        pytest.skip("numba is not installed")
    if not natively:
        monkeypatch.setattr(native, "_kernels", None)
        monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    model, moves, run = watched(kind, tmp_path / "run")
    parameters = [p for p in model.parameters() if p.requires_grad]
    parts = divided([p.numel() for p in parameters])

    def expected(which: int, members: list[int], first: int) -> float:
        total = 0.0
        for part, slices in enumerate(parts):
            for tensor, start, stop in slices:
                if tensor in members:
                    total += norm([moves[first + part][tensor][which].reshape(-1)[start:stop]]) ** 2
        return math.sqrt(total)

    everything = list(range(len(parameters)))
    ends = [PARTS - 1, 2 * PARTS - 1, 3 * PARTS - 1]
    for vital, which in (("update_norm", 0), ("param_norm", 1)):
        series = run.series(vital)
        assert series.steps.tolist() == ends, "the whole is known when a round is over"
        np.testing.assert_allclose(series.values, [expected(which, everything, s - PARTS + 1) for s in ends], rtol=1e-5)
        for owner, inside in owners(model).items():
            members = [i for i, p in enumerate(parameters) if any(p is each for each in inside)]
            last = max(k for k, slices in enumerate(parts) for tensor, _, _ in slices if tensor in members)
            series = run.series(vital, owner)
            assert series.steps.tolist() == [last, PARTS + last, 2 * PARTS + last], owner
            np.testing.assert_allclose(
                series.values,
                [expected(which, members, first) for first in (0, PARTS, 2 * PARTS)],
                rtol=1e-4,
                atol=1e-7,
            )
    assert run.config["updates_in_parts"] == PARTS


def test_gradients_of_large_models_are_still_read_in_full(large, tmp_path):
    _, _, run = watched("mlp", tmp_path / "run")
    assert run.series("grad_norm").steps.tolist() == list(range(3 * PARTS))


def test_without_a_budget_every_step_is_exact(large, tmp_path):
    _, _, run = watched("mlp", tmp_path / "run", budget=None)
    assert run.series("update_norm").steps.tolist() == list(range(3 * PARTS))
    assert "updates_in_parts" not in run.config


def test_small_models_are_remembered_whole(tmp_path):
    _, _, run = watched("mlp", tmp_path / "run")
    assert run.series("update_norm").steps.tolist() == list(range(3 * PARTS))
    assert partial_updates.WHOLE_UP_TO * 4 == 16_000_000
