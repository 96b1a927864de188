"""The largest element of every tensor of a list, whatever their sizes and kinds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedside.collect.reading.squared_norms import SMALL, SquaredNorms


def tensors() -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), (3, 4), (), (2, SMALL), (SMALL + 1,), (7, 3), (0, 4)] + [(6, 2)] * 9
    return [torch.randn(shape, generator=random) for shape in shapes]


def expected(given: list[torch.Tensor]) -> list[float]:
    return [float(each.abs().max()) if each.numel() else 0.0 for each in given]


def test_it_is_that_of_torch():
    given = tensors()
    assert SquaredNorms(given).largest(given).tolist() == pytest.approx(expected(given), rel=1e-6)


def test_a_large_negative_number_is_large():
    given = [-10 * each for each in tensors()]
    assert SquaredNorms(given).largest(given).tolist() == pytest.approx(expected(given), rel=1e-6)


@pytest.mark.parametrize("place", [0, 4])
def test_what_is_not_finite_stays_so(place):
    given = tensors()
    given[place].view(-1)[-1] = torch.nan
    found = SquaredNorms(given).largest(given)
    assert np.isnan(found[place])
    assert np.isfinite(np.delete(found, place)).all()
    given[place].view(-1)[-1] = -torch.inf
    assert SquaredNorms(given).largest(given)[place] == np.inf


def test_half_precision_and_what_is_missing():
    given = [each.to(torch.bfloat16) for each in tensors()]
    norms = SquaredNorms(given)
    assert norms.largest(given).tolist() == pytest.approx(expected([each.float() for each in given]))
    some = [None if place % 2 else each for place, each in enumerate(given)]
    assert norms.largest(some)[1] == 0
    assert norms.largest(some)[0] == pytest.approx(expected([given[0].float()])[0])
