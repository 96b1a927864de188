"""Optimizers that take turns: weights of those that did not step keep their norm, and nothing is said of updates."""

from __future__ import annotations

import numpy as np
import torch
from tests.collect.slow_reference import norm
from tests.collect.watched import watched
from torch import nn


def layer_by_layer(tmp_path, turns):
    """Each layer has an optimizer and a loss of its own; `turns(step)` says who steps in a round."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 4))
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.05) for layer in model]
    truth = []

    def body(step, monitor):
        for place in turns(step):
            inputs = torch.randn(16, 6)
            for layer in model[:place]:
                inputs = layer(inputs).detach()
            optimizers[place].zero_grad()
            model[place](inputs).square().mean().backward()
            optimizers[place].step()
            truth.append([norm(list(layer.parameters())) for layer in model])

    return watched(model, optimizers, tmp_path, body, 40, budget=None), np.asarray(truth)


def test_norms_do_not_fall_to_zero_and_back_when_optimizers_take_turns(tmp_path):
    run, truth = layer_by_layer(tmp_path, lambda step: [0] * 3 + [1] * 3 + [2] * 3)
    for place in range(3):
        norms = run.series("param_norm", str(place))
        assert norms.values.min() >= truth[:, place].min() * (1 - 1e-5)
        assert np.abs(np.diff(norms.values)).max() < 0.1 * truth[0, place]
        assert run.series("relative_update_norm", str(place)).values.min() > 0
    totals = run.series("param_norm")
    np.testing.assert_allclose(totals.values[-1], np.sqrt((truth[-1] ** 2).sum()), rtol=1e-5)
    assert np.abs(np.diff(totals.values)).max() < 0.1 * totals.values[0]


def test_a_total_is_told_once_all_weights_have_been_read(tmp_path):
    run, _ = layer_by_layer(tmp_path, lambda step: [0, 0, 0] if step < 10 else [0, 0, 1, 2])
    assert run.series("param_norm", "0").first_step == 0
    assert run.series("param_norm").first_step > 20
    assert run.series("param_norm", "1").first_step > 20
    assert not np.isnan(run.series("param_norm").values).any()
    assert not run.series("nonfinite_params").values.any()


def test_a_round_in_which_everybody_steps_is_read_as_ever(tmp_path):
    run, truth = layer_by_layer(tmp_path, lambda step: [0, 1, 2])
    for place in range(3):
        values = run.series("param_norm", str(place)).values
        np.testing.assert_allclose(values, truth[2::3, place], rtol=1e-5)


def test_steps_at_which_somebody_else_stepped_are_not_counted_as_steps_without_a_gradient(tmp_path):
    run, _ = layer_by_layer(tmp_path, lambda step: [0, 0, 0] if step < 30 else [0, 0, 1, 1])
    watched = {p.name: (p.gradient_steps, p.watched_steps) for p in run.parameters}
    assert watched["2.weight"] == (0, 0)
    assert watched["1.weight"][0] == watched["1.weight"][1] > 0
    assert watched["0.weight"][0] == watched["0.weight"][1] > watched["1.weight"][1]
