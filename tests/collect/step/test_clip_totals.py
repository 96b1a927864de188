"""What a clip call measured is taken for the gradient's norm only where it is that norm."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.step.test_value_clipping import run_of
from torch import nn


def by_largest_element(parameters):
    nn.utils.clip_grad_norm_(parameters, 0.01, norm_type=float("inf"))


def by_value_then_by_norm(parameters):
    nn.utils.clip_grad_value_(parameters, 0.02)
    nn.utils.clip_grad_norm_(parameters, 0.1)


def with_those_of_another_model(parameters):
    other = nn.Parameter(torch.zeros(3))
    other.grad = torch.full((3,), 2.0)
    nn.utils.clip_grad_norm_([*parameters, other], 1.0)


@pytest.mark.parametrize("clip", [by_largest_element, by_value_then_by_norm, with_those_of_another_model])
def test_norms_are_those_of_the_gradient_and_not_what_the_call_measured(clip, tmp_path):
    run, expected, _ = run_of(tmp_path, clip, steps=80)
    for vital in ("grad_norm", "grad_norm_clipped"):
        norms = run.series(vital)
        assert len(norms) >= 20
        truth = np.asarray(expected[(vital, "")])[norms.steps]
        np.testing.assert_allclose(norms.values, truth, rtol=1e-4, err_msg=vital)


def test_an_ordinary_call_gives_the_norm_of_every_step(tmp_path):
    run, expected, _ = run_of(tmp_path, lambda p: nn.utils.clip_grad_norm_(p, 0.1), steps=80)
    norms = run.series("grad_norm")
    assert len(norms) == 80
    np.testing.assert_allclose(norms.values, expected[("grad_norm", "")], rtol=1e-4)
