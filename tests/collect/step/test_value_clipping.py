"""Clipping by value: the norms are those before it, recomputed here by hand, and the clip vitals are there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import Obvious
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_value_ as imported_early


def run_of(tmp_path, clip, *, steps=30, kind="mlp", optimizer=None, **options):
    """The recorded run of a loop whose gradients `clip(parameters)` edits, and the obvious numbers beside it."""
    torch.manual_seed(0)
    model = CASES[kind].model()
    optimizer = (optimizer or (lambda p: torch.optim.SGD(p, lr=0.05)))(model.parameters())
    obvious = Obvious(model)
    largest = []

    def body(step, monitor):
        inputs, targets = CASES[kind].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        obvious.before_clip()
        largest.append(max(float(p.grad.abs().max()) for p in model.parameters()))
        clip(list(model.parameters()))
        obvious.after_clip()
        optimizer.step()
        obvious.after_step()

    return watched(model, optimizer, tmp_path, body, steps, **options), obvious.numbers, np.asarray(largest)


CALLS = {
    "module": lambda p: nn.utils.clip_grad_value_(p, 0.01),
    "imported early": lambda p: imported_early(p, clip_value=0.01),
    "generator": lambda p: nn.utils.clip_grad_value_((each for each in p), 0.01),
    "one by one": lambda p: [nn.utils.clip_grad_value_(each, 0.01, foreach=False) for each in p],
}


@pytest.mark.parametrize("call", CALLS)
def test_norms_are_those_before_clipping_by_value(call, tmp_path):
    run, expected, largest = run_of(tmp_path, CALLS[call])
    for (vital, owner), values in expected.items():
        np.testing.assert_allclose(run.series(vital, owner).values, values, rtol=1e-5, err_msg=f"{vital} {owner}")
    assert set(run.series("clip_threshold").values) == {0.01}
    np.testing.assert_allclose(run.series("grad_clip_ratio").values, largest / 0.01, rtol=1e-5)
    assert set(run.series("clip_active").values) == {1.0}


def test_a_threshold_that_is_never_reached_clips_nothing(tmp_path):
    run, expected, _ = run_of(tmp_path, lambda p: nn.utils.clip_grad_value_(p, 1e3))
    np.testing.assert_allclose(run.series("grad_norm").values, expected[("grad_norm", "")], rtol=1e-5)
    assert set(run.series("clip_active").values) == {0.0}


@pytest.mark.parametrize("budget", [0.01, None])
def test_long_runs_read_on_before_clipping_by_value(budget, tmp_path):
    run, expected, _ = run_of(tmp_path, CALLS["module"], steps=400, budget=budget)
    norms = run.series("grad_norm")
    truth = np.asarray(expected[("grad_norm", "")])
    assert len(norms) > 100
    np.testing.assert_allclose(norms.values, truth[norms.steps], rtol=1e-5)


def test_some_parameters_clipped_by_value_leave_the_others_as_they_are(tmp_path):
    run, expected, _ = run_of(tmp_path, lambda p: nn.utils.clip_grad_value_(p[:2], 0.01))
    for owner in ("", "0", "3", "5"):
        np.testing.assert_allclose(run.series("grad_norm", owner).values, expected[("grad_norm", owner)], rtol=1e-5)


def test_weights_are_the_same_with_and_without_watching(tmp_path):
    def train(watch):
        torch.manual_seed(0)
        model = CASES["mlp"].model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def body(step, monitor):
            inputs, targets = CASES["mlp"].batch()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.01)
            optimizer.step()

        if watch:
            watched(model, optimizer, tmp_path, body, 40)
        else:
            for step in range(40):
                body(step, None)
        return [p.detach() for p in model.parameters()]

    assert all(torch.equal(a, b) for a, b in zip(train(True), train(False), strict=True))


def test_the_function_is_torchs_own_again_afterwards(tmp_path):
    cells = [cell.cell_contents for cell in imported_early.__closure__]
    run_of(tmp_path, CALLS["module"], steps=3)
    assert [cell.cell_contents for cell in imported_early.__closure__] == cells
