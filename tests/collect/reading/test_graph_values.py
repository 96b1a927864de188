"""The first operation that made a non-finite number is found in the graph, and nobody's forward runs for it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from bedside.collect.reading.graph_values import forward_order, graph_values

NAN = float("nan")


def origins_of(function, *, width=6, loss=torch.Tensor.sum):
    torch.manual_seed(0)
    first, last = nn.Linear(width, width), nn.Linear(width, 3)
    return [node.name() for node in graph_values(loss(last(function(first(torch.randn(4, width)))))).origins()]


class OwnLog(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


CASES = {
    "logarithm of a negative number": (lambda x: torch.log(-x.abs()), ["LogBackward0"]),
    "root of a negative number": (lambda x: torch.sqrt(-x.abs() - 1), ["SqrtBackward0"]),
    "overflow that becomes NaN two operations later": (lambda x: torch.exp(500 * x.abs() + 90) * 0, ["ExpBackward0"]),
    "NaN as a factor": (lambda x: x * NAN, ["MulBackward0"]),
    "division of zero by zero": (lambda x: (x - x) / (x - x), ["DivBackward0"]),
    "handed on by reshapes": (
        lambda x: torch.log(-x.abs()).view(2, 2, 6).transpose(0, 1).reshape(4, 6),
        ["LogBackward0"],
    ),
    "a residual connection around it": (lambda x: x + torch.log(-x.abs()), ["LogBackward0"]),
    "behind dropout and ReLU": (lambda x: F.dropout(torch.log(-x.abs()).relu(), 0.1), ["LogBackward0"]),
    "a softmax over nothing but masked keys": (
        lambda x: x.masked_fill(torch.ones(4, 6, dtype=torch.bool), -torch.inf).softmax(-1),
        ["SoftmaxBackward0"],
    ),
    "a function of the user's": (lambda x: OwnLog.apply(-x.abs()), ["OwnLogBackward"]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_bad_operation_is_found(case):
    function, expected = CASES[case]
    assert origins_of(function) == expected


def test_masks_of_minus_infinity_are_meant():
    hidden = torch.tensor([[False, True, True, False, True, True]])
    found = origins_of(lambda x: torch.log(-(x.masked_fill(hidden, -torch.inf).softmax(-1) + x * 0 + 0.1)))
    assert found[-1:] == ["LogBackward0"]


def test_a_finite_loss_has_no_origin():
    assert origins_of(torch.tanh) == []


def test_what_was_packed_away_is_not_unpacked():
    calls = []

    def inner(x):
        calls.append(1)
        return torch.log(-x.abs())

    found = origins_of(lambda x: checkpoint(inner, x, use_reentrant=False))
    assert len(calls) == 1, "the forward was not run again"
    assert "LogBackward0" in found


def test_what_was_overwritten_in_place_is_left_out():
    def overwritten(x):
        y = torch.tanh(x)
        y.mul_(0).div_(0)
        return y

    assert "DivBackward0" in origins_of(overwritten)


def test_the_graph_can_still_be_used_afterwards():
    layer = nn.Linear(3, 3)
    loss = torch.log(layer(torch.ones(2, 3)).abs()).sum()
    versions = [p._version for p in layer.parameters()]
    state = torch.get_rng_state()
    assert graph_values(loss) is not None
    loss.backward()
    assert layer.weight.grad is not None
    assert versions == [p._version for p in layer.parameters()]
    assert torch.equal(state, torch.get_rng_state())
    assert forward_order(torch.ones(())) == []
