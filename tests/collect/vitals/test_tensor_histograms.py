"""Histograms are those that numpy counts, stay out of the way, and can be added."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.vitals.tensor_histograms import ELEMENTS
from bedside.record.histograms import EDGES, Histogram, histograms, owners


def train(folder, steps=201, **options):
    """Weights, gradients and outputs at the last step, and the run."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 400), nn.ReLU(), nn.Linear(400, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    outputs: dict[str, torch.Tensor] = {}
    for name, module in model.named_children():
        module.register_forward_hook(lambda m, a, out, name=name: outputs.__setitem__(name, out.detach().clone()))
    with bedside.watch(model, optimizer, run_dir=folder, quiet=True, **options):
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 12)), torch.randint(5, (8,))).backward()
            optimizer.step()
    return model, outputs, bedside.load(folder)


def counted(tensor: torch.Tensor) -> np.ndarray:
    return np.histogram(tensor.detach().numpy().reshape(-1), EDGES)[0]


def test_they_are_those_that_numpy_counts(tmp_path):
    model, outputs, run = train(tmp_path / "run", histograms=True, budget=None)
    assert [each.step for each in histograms(run, "weights", "0.weight")] == [0, 100, 200]
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(histograms(run, "weights", name)[-1].counts, counted(parameter))
        np.testing.assert_array_equal(histograms(run, "gradients", name)[-1].counts, counted(parameter.grad))
    assert owners(run, "activations") == list(outputs)
    for name, output in outputs.items():
        np.testing.assert_array_equal(histograms(run, "activations", name)[-1].counts, counted(output))


def test_nothing_is_kept_unless_asked_for_and_watching_changes_nothing(tmp_path):
    plain, _, without = train(tmp_path / "without", steps=30)
    watched, _, _ = train(tmp_path / "with", steps=30, histograms=True)
    assert not owners(without, "weights")
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other)


def test_of_a_large_tensor_a_part_is_counted_spread_over_all_of_it(tmp_path):
    model = nn.Linear(1000, 300)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", histograms=True, quiet=True):
        model(torch.randn(4, 1000)).sum().backward()
        optimizer.step()
    (found,) = histograms(bedside.load(tmp_path / "run"), "weights", "weight")
    assert ELEMENTS / 2 < len(found) <= ELEMENTS
    np.testing.assert_allclose(found.counts / len(found), counted(model.weight) / 300_000, atol=0.01)


def test_every_kind_of_number_has_its_bin_and_packing_loses_nothing():
    values = [0.0, -0.0, 1.5, -1.5, 1e-40, np.inf, -np.inf, np.nan, 3e38, -1e-30]
    histogram = Histogram.of_values(values, step=7)
    assert len(histogram) == len(values)
    assert histogram.counts[255] == 3
    assert histogram.counts[0] + histogram.counts[-1] == 3
    again = Histogram.unpacked(histogram.packed(), 7)
    np.testing.assert_array_equal(again.counts, histogram.counts)
    assert len(histogram + again) == 2 * len(values)
    assert not len(Histogram.unpacked(Histogram(np.zeros_like(histogram.counts)).packed(), 0))
