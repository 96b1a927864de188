"""Clipping written in the loop itself is recognised: norms are then those at the end of the backward pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.step.test_value_clipping import run_of
from torch import nn

from bedside.collect.step.unclipped_gradients import UnclippedGradients


def clamp(parameters):
    for p in parameters:
        p.grad.clamp_(-0.01, 0.01)


def clamp_data(parameters):
    for p in parameters:
        p.grad.data.clamp_(-0.01, 0.01)


def scale(parameters):
    norm = torch.cat([p.grad.flatten() for p in parameters]).norm()
    if norm > 0.3:
        for p in parameters:
            p.grad.mul_(0.3 / norm)


def scale_data(parameters):
    norm = sum(float(p.grad.data.norm()) ** 2 for p in parameters) ** 0.5
    for p in parameters:
        p.grad.data.mul_(min(1.0, 0.3 / (norm + 1e-6)))


@pytest.mark.parametrize("clip", [clamp, clamp_data, scale, scale_data])
def test_norms_are_those_before_it(clip, tmp_path):
    run, expected, largest = run_of(tmp_path, clip, steps=60)
    for owner in ("", "0", "3", "5"):
        for vital in ("grad_norm", "grad_norm_clipped"):
            values = run.series(vital, owner).values
            np.testing.assert_allclose(values, expected[(vital, owner)], rtol=1e-4, err_msg=f"{vital} {owner}")
    [recorded] = run.events_of("clipping")
    assert recorded.data["by_hand"]
    assert recorded.data["by"] == ("value" if clip in (clamp, clamp_data) else "norm")
    if clip in (clamp, clamp_data):
        np.testing.assert_allclose(run.series("clip_threshold").values, 0.01, rtol=1e-5)
        np.testing.assert_allclose(run.series("grad_clip_ratio").values, largest / 0.01, rtol=1e-4)
    else:
        np.testing.assert_allclose(run.series("clip_threshold").values, 0.3, rtol=1e-4)
        ratios = np.asarray(expected[("grad_norm", "")]) / 0.3
        np.testing.assert_allclose(run.series("grad_clip_ratio").values, ratios, rtol=1e-4)


@pytest.mark.parametrize("clip", [clamp_data, scale])
def test_it_is_read_on_in_long_runs(clip, tmp_path):
    run, expected, _ = run_of(tmp_path, clip, steps=400)
    norms = run.series("grad_norm")
    assert len(norms) > 100
    np.testing.assert_allclose(norms.values, np.asarray(expected[("grad_norm", "")])[norms.steps], rtol=1e-4)


def test_clipping_that_begins_late_is_recognised(tmp_path):
    calls = []

    def late(parameters):
        calls.append(0)
        if len(calls) > 200:
            scale(parameters)

    run, expected, _ = run_of(tmp_path, late, steps=500, budget=None)
    norms = run.series("grad_norm")
    truth = np.asarray(expected[("grad_norm", "")])[norms.steps]
    np.testing.assert_allclose(norms.values[-200:], truth[-200:], rtol=1e-4)


def halve(parameters):
    for p in parameters:
        p.grad /= 2


def add_decay(parameters):
    for p in parameters:
        p.grad.add_(p.detach(), alpha=0.01)


def nothing(parameters):
    pass


@pytest.mark.parametrize("edit", [halve, add_decay, nothing])
def test_what_is_no_clipping_leaves_no_clip_vitals(edit, tmp_path):
    run, expected, _ = run_of(tmp_path, edit, steps=60)
    np.testing.assert_allclose(run.series("grad_norm").values, expected[("grad_norm_clipped", "")], rtol=1e-5)
    assert not len(run.series("clip_threshold"))


@pytest.mark.parametrize(("clip", "at_first"), [(nothing, 20), (lambda p: nn.utils.clip_grad_norm_(p, 0.1), 3)])
def test_gradients_are_soon_read_once_where_torch_is_called_to_clip(clip, at_first, tmp_path, monkeypatch):
    readings = []
    read = UnclippedGradients.read
    monkeypatch.setattr(UnclippedGradients, "read", lambda self, *what: readings.append(0) or read(self, *what))
    run_of(tmp_path, clip, steps=20, budget=None)
    assert at_first <= len(readings) <= at_first + 20 // 8
