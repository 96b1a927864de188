"""Machine code finds gradients where Python does, and leaves alone what Python would."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch
from torch import nn

from bedside.collect.reading.addresses import CHECK_ALL_UP_TO
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.native import torch_calls
from bedside.collect.reading.updates import Moved


@pytest.fixture(autouse=True)
def loaded():
    if not native.load() or torch_calls.functions() is None:
        pytest.skip("numba is not installed, or this torch was not tried")


def square(tensor) -> float:
    return float(tensor.detach().double().square().sum())


class Asked:
    """Parameters that have been measured twice, so that from now on native code asks for their gradients."""

    def __init__(self, count=3):
        torch.manual_seed(0)
        self.parameters = [nn.Parameter(torch.randn(40)) for _ in range(count)]
        for parameter in self.parameters:
            parameter.grad = torch.randn(40)
        self.moved = Moved(self.parameters)
        self.moved.remember(self.parameters)
        self.measure()
        self.measure()

    def measure(self):
        return self.moved.measure_with_gradients(self.parameters)

    @property
    def by_machine_code(self):
        return self.moved._pairs.measure_all_at_once(self.parameters) is not None

    def check(self):
        """Gradients and weights are those of the parameters as they are."""
        _, weights, gradients = self.measure()
        np.testing.assert_allclose(weights, [square(p) for p in self.parameters], rtol=1e-6)
        np.testing.assert_allclose(gradients, [square(p.grad) for p in self.parameters], rtol=1e-6)


def test_gradients_are_found_wherever_they_are_now():
    asked = Asked()
    assert asked.by_machine_code
    asked.parameters[1].grad = torch.randn(40)
    asked.check()
    for parameter in asked.parameters:  # as backward makes them anew at every step
        parameter.grad = None
    sum((p * p).sum() for p in asked.parameters).backward()
    assert asked.by_machine_code
    asked.check()


@pytest.mark.parametrize(
    "gradient",
    [None, torch.ones(1).expand(40), torch.ones(80)[::2], torch.ones(40).to_sparse()],
    ids=["none", "expanded", "strided", "sparse"],
)
def test_what_cannot_be_read_by_address_is_not(gradient):
    asked = Asked()
    asked.parameters[1].grad = gradient
    assert not asked.by_machine_code
    assert asked.measure() is None
    asked.parameters[1].grad = torch.ones(40)
    assert asked.by_machine_code, "when it is over, all is as before"


def test_a_gradient_of_another_type_is_not_read():
    asked = Asked()
    parameter = asked.parameters[1]
    parameter.grad = None
    parameter.grad_dtype = torch.float64
    parameter.grad = torch.ones(40, dtype=torch.float64)
    assert not asked.by_machine_code
    assert asked.measure() is None


@pytest.mark.parametrize("count", [3, CHECK_ALL_UP_TO + 10])
def test_a_parameter_that_somebody_moved_is_noticed_at_once(count):
    asked = Asked(count)
    asked.parameters[2].data = torch.randn(40)
    assert not asked.by_machine_code
    asked.check()
    assert asked.by_machine_code


def test_a_parameter_that_was_swapped_for_another_is_read_as_it_is_now():
    asked = Asked()
    other = nn.Parameter(torch.randn(40))
    other.grad = torch.randn(40)
    torch.utils.swap_tensors(asked.parameters[0], other)
    del other
    asked.check()


def test_a_parameter_that_became_shorter_is_not_read_beyond_its_end():
    asked = Asked()
    asked.parameters[0].grad = None
    asked.parameters[0].data = asked.parameters[0].data[:10]
    asked.parameters[0].grad = torch.ones(10)
    assert not asked.by_machine_code


def test_cells_hold_the_tensors_of_torch():
    tensors = [torch.zeros(2), nn.Parameter(torch.zeros(3)), torch.zeros(4).view(2, 2)]
    found = torch_calls.cells(tensors)
    assert [ctypes.c_int64.from_address(int(at)).value for at in found] == [t._cdata for t in tensors]


def test_a_torch_that_was_not_tried_is_asked_by_python(monkeypatch):
    torch_calls.functions.cache_clear()
    monkeypatch.setattr(torch_calls, "TRIED", ("1.0.",))
    try:
        assert torch_calls.functions() is None
        asked = Asked()
        assert not asked.by_machine_code
        asked.check()
    finally:
        torch_calls.functions.cache_clear()


def test_machine_code_that_finds_something_else_is_not_trusted(monkeypatch):
    strangers = [nn.Parameter(torch.ones(40)) for _ in range(3)]
    for stranger in strangers:
        stranger.grad = torch.ones(40)
    honest = torch_calls.cells
    monkeypatch.setattr(torch_calls, "cells", lambda tensors: honest(strangers))
    asked = Asked()
    assert not asked.by_machine_code
    asked.check()
