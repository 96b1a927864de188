"""The native pass gives the numbers of the plain one, and the plain one is there when it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.squared_norms import SquaredNorms
from bedside.collect.reading.updates import Moved
from bedside.record.sqlite.reader import open_run


@pytest.fixture
def loaded():
    if not native.load():
        pytest.skip("numba is not installed")


@pytest.fixture
def plain(monkeypatch):
    """As if numba were not there."""
    monkeypatch.setattr(native, "_kernels", None)
    monkeypatch.setenv("BEDSIDE_NATIVE", "0")


def odd_tensors() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [
        torch.randn(3),
        torch.randn(40_000),
        torch.empty(0),
        torch.randn(64, 32).t(),  # not in plain order
        torch.randn(8, 4, 3, 3).to(memory_format=torch.channels_last),
        torch.randn(7, dtype=torch.float64),
        torch.randn(50).to(torch.bfloat16),
        torch.randn(9, dtype=torch.complex64),
        torch.full((5,), 1e-30),
        torch.randn(300_000) * 1e15,
    ]


def expected(tensors) -> list[float]:
    return [float((t.detach().to(torch.complex128).abs() ** 2).sum()) for t in tensors]


def test_squares_are_those_of_the_plain_way(loaded):
    tensors = odd_tensors()
    squared_norms = SquaredNorms(tensors)
    np.testing.assert_allclose(np.asarray(squared_norms.squares(tensors)), expected(tensors), rtol=1e-6)
    missing = [None if i == 1 else t for i, t in enumerate(tensors)]
    assert squared_norms.squares(missing)[1] == 0


def test_changes_are_those_of_the_plain_way(loaded):
    before, after = odd_tensors(), [t + t * 1e-3 for t in odd_tensors()]
    after[4] = after[4].to(memory_format=torch.channels_last)
    moved = Moved(before)
    moved.remember(before)
    change, size = moved.measure(after)
    differences = [new - old for new, old in zip(after, before, strict=True)]
    np.testing.assert_allclose(change, expected(differences), rtol=1e-6)
    np.testing.assert_allclose(size, expected(after), rtol=1e-6)


def test_one_call_reads_weights_updates_and_gradients(loaded):
    torch.manual_seed(0)
    sizes = [0, 1, 3, 1023, 1024, 1025, 5000, 1024, 2048, 1500, 2000]
    scales = [1, 1, 1, 1, 1, 1, 1, 1e-25, 1e25, 0, 1]  # squares of some vanish, of some overflow, and some are zero
    parameters = [nn.Parameter(scale * torch.randn(size)) for size, scale in zip(sizes, scales, strict=True)]
    for parameter, scale in zip(parameters, reversed(scales), strict=True):
        parameter.grad = scale * torch.randn_like(parameter)
    parameters[-1].grad[1999] = math.nan
    before = [p.detach().clone() for p in parameters]
    moved = Moved(parameters)
    moved.remember(parameters)
    with torch.no_grad():
        for parameter in parameters:
            parameter.mul_(1.001)
    updates, weights, gradients = moved.measure_with_gradients(parameters)
    differences = [now.detach() - then for now, then in zip(parameters, before, strict=True)]
    np.testing.assert_allclose(updates, expected(differences), rtol=1e-6)
    np.testing.assert_allclose(weights, expected(parameters), rtol=1e-6)
    np.testing.assert_allclose(gradients[:-1], expected([p.grad for p in parameters[:-1]]), rtol=1e-6)
    assert math.isnan(gradients[-1])
    again, still, _ = moved.measure_with_gradients(parameters)  # what was measured is remembered
    assert not again.any()
    np.testing.assert_array_equal(still, weights)


@pytest.mark.parametrize(
    "gradient",
    [None, torch.ones(1).expand(40), torch.ones(80)[::2], torch.ones(40).to_sparse()],
    ids=["none", "expanded", "strided", "sparse"],
)
def test_a_gradient_that_does_not_lie_in_one_piece_is_not_read_by_address(gradient, loaded):
    parameters = [nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(40))]
    parameters[0].grad, parameters[1].grad = torch.ones(4), gradient
    moved = Moved(parameters)
    moved.remember(parameters)
    assert moved.measure_with_gradients(parameters) is None


def test_nan_and_infinity_stay_what_they_are(loaded):
    squares = native.squares([torch.tensor([1.0, math.nan]), torch.tensor([1.0, -math.inf])])
    assert math.isnan(squares[0])
    assert squares[1] == math.inf


def test_tiny_numbers_are_not_flushed_to_zero_for_the_rest_of_the_program(loaded):
    native.squares([torch.ones(3)])
    assert (torch.tensor(1e-40) * 1.0).item() > 0


def recorded(folder, kind="conv"):
    torch.manual_seed(0)
    case = CASES[kind]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    with bedside.watch(model, optimizer, run_dir=folder, quiet=True, budget=None):
        for _ in range(12):
            inputs, targets = case.batch()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    return open_run(folder), model


@pytest.mark.parametrize("kind", ["conv", "gpt", "lstm"])
def test_a_run_has_the_same_numbers_either_way(kind, loaded, tmp_path, monkeypatch):
    natively, native_model = recorded(tmp_path / "native", kind)
    monkeypatch.setattr(native, "_kernels", None)
    plainly, plain_model = recorded(tmp_path / "plain", kind)
    for one, other in zip(native_model.parameters(), plain_model.parameters(), strict=True):
        assert torch.equal(one, other)
    for vital in ("grad_norm", "grad_norm_clipped", "param_norm", "update_norm", "relative_update_norm"):
        for owner in ["", *plainly.owners(vital)]:
            one, other = natively.series(vital, owner), plainly.series(vital, owner)
            assert one.steps.tolist() == other.steps.tolist()
            # 1e-9: an update that is nothing but rounding
            np.testing.assert_allclose(one.values, other.values, rtol=1e-6, atol=1e-9, err_msg=f"{vital} {owner}")


def test_without_numba_the_plain_way_is_taken(plain):
    assert not native.available()
    assert not native.load()
    tensors = [torch.randn(10), torch.randn(20_000)]
    np.testing.assert_allclose(np.asarray(SquaredNorms(tensors).squares(tensors)), expected(tensors), rtol=1e-6)


def test_a_numba_that_fails_leaves_the_plain_way(monkeypatch):
    monkeypatch.setattr(native, "_kernels", None)
    monkeypatch.setattr(native, "available", lambda: True)
    monkeypatch.setattr(native, "_compiled", lambda: 1 / 0)
    assert not native.load()
    assert not native.ready()


def test_tiny_and_huge_numbers_have_their_norms_the_plain_way_too(plain):
    tensors = [torch.full((40_000,), 1e-25), torch.full((40_000,), 1e25), torch.zeros(40_000)]
    np.testing.assert_allclose(np.asarray(SquaredNorms(tensors).squares(tensors)), expected(tensors), rtol=1e-6)


def test_small_tensors_that_are_joined_keep_their_norms_and_their_places(plain):
    torch.manual_seed(0)
    shapes = [(5,), (), (4, 3), (7,), (2, 3), (3, 2, 2)] * 9
    tensors = [torch.randn(shape) for shape in shapes]
    squared_norms = SquaredNorms(tensors)
    np.testing.assert_allclose(squared_norms.squares(tensors), expected(tensors), rtol=1e-6)
    tensors[13] = None  # a missing one
    tensors[0] = torch.eye(5).to_sparse()[0]  # and a sparse one
    here = [torch.zeros(1) if t is None else t.to_dense() for t in tensors]
    np.testing.assert_allclose(squared_norms.squares(tensors), expected(here), rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_of_many_alike_some_vanish_and_some_overflow(plain):
    torch.manual_seed(0)
    tensors = [torch.randn(8, 8) * 10.0 ** (-i / 4) for i in range(120)]  # down to 1e-30
    tensors += [torch.zeros(8)] * 20 + [torch.full((8,), 1e25)] * 20 + [torch.full((8,), math.nan)]
    np.testing.assert_allclose(SquaredNorms(tensors).squares(tensors), expected(tensors), rtol=1e-6)
