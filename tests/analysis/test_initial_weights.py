"""Weights that were there before the first step are recognised by their size per element."""

from __future__ import annotations

import math

import pytest

from bedside.analysis.initial_weights import began_at_zero
from bedside.record.run import Parameter
from bedside.testing import a_run

LAYERS = [Parameter("front.weight", "front", 7_500), Parameter("head.weight", "head", 2_500)]


@pytest.mark.parametrize(("per_element", "at_zero"), [(0.0, True), (5e-5, True), (2e-4, False), (0.02, False)])
def test_the_norm_is_judged_by_the_number_of_weights(per_element, at_zero):
    norm = per_element * math.sqrt(10_000)
    assert began_at_zero(a_run(parameters=LAYERS, config={"initial_param_norm": norm})) is at_zero


def test_a_single_weight_counts_and_none_does_not():
    config = {"initial_param_norm": 0.0}
    assert began_at_zero(a_run(parameters=[Parameter("scale", "scale", 1)], config=config))
    assert not began_at_zero(a_run(config=config))


def test_where_the_norm_was_not_recorded_nothing_is_claimed():
    assert not began_at_zero(a_run(parameters=LAYERS))
