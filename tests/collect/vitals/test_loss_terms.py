"""The parts of a loss and how they are reduced, from its graph."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.loss_terms import terms_of

X = torch.randn(8, 6, requires_grad=True)
Y = torch.rand(8, 6)
KL = -0.5 * (1 + X - X.pow(2) - X.exp())

LOSSES = {
    "mean and sum": (lambda: F.mse_loss(X, Y) + KL.sum(), [("mean", 48, 1.0), ("sum", 48, 1.0)]),
    "both summed": (
        lambda: F.binary_cross_entropy_with_logits(X, Y, reduction="sum") - 0.5 * torch.sum(1 + X),
        [("sum", 48, 1.0), ("sum", 48, -0.5)],
    ),
    "per sample": (lambda: F.mse_loss(X, Y) + 0.1 * KL.sum(1).mean(), [("mean", 48, 1.0), ("mean", 8, 0.1)]),
    "divided": (lambda: F.mse_loss(X, Y) + KL.sum() / 8, [("mean", 48, 1.0), ("sum", 48, 0.125)]),
    "three": (
        lambda: (F.cross_entropy(X, torch.zeros(8, dtype=torch.long)) + 2 * X.abs().mean()) + X.sum() * 1e-3,
        [("mean", 8, 1.0), ("mean", 48, 2.0), ("sum", 48, 1e-3)],
    ),
    "one alone": (lambda: F.mse_loss(X, Y), [("mean", 48, 1.0)]),
    "steps of a sequence": (
        lambda: sum(F.cross_entropy(X * k, torch.zeros(8, dtype=torch.long)) for k in range(1, 26)) / 5,
        [("mean", 200, 5.0)],
    ),
    "no sum of parts": (lambda: (X.mean() + X.sum()).exp(), []),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_parts_are_told_with_their_reduction_and_weight(kind):
    make, expected = LOSSES[kind]
    found = sorted((term.reduction, term.elements, round(term.weight, 6)) for term in terms_of(make().grad_fn))
    assert found == sorted(expected)


def test_weights_per_element_equal_the_derivative_by_that_element():
    """The slow way: of a sum and of a mean over the numbers themselves, the derivative is the weight of one."""
    z = torch.randn(5, 4, requires_grad=True)
    for loss in (3 * z.mean(), z.sum() / 2, -0.1 * z.sum()):
        (term,) = terms_of(loss.grad_fn)
        (slope,) = torch.autograd.grad(loss, z)
        assert term.per_element == pytest.approx(abs(float(slope[0, 0])))


def test_the_record_has_them_once_in_a_while(tmp_path):
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def body(step, monitor):
        optimizer.zero_grad()
        out = model(torch.randn(8, 6))
        (F.mse_loss(out, torch.randn(8, 6)) + out.square().sum()).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=70)
    assert [event.step for event in run.events_of("loss_terms")] == [0, 50]
    first, second = run.events_of("loss_terms")[0].data["terms"]
    assert (first["reduction"], second["reduction"]) == ("mean", "sum")
    assert second["per_element"] / first["per_element"] == pytest.approx(48)


def test_one_part_is_recorded_where_it_is_no_mean(tmp_path):
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    labels = torch.zeros(8, dtype=torch.long)
    found = []
    for reduction in ("sum", "mean"):

        def body(step, monitor, reduction=reduction):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 6)), labels, reduction=reduction).backward()
            optimizer.step()

        run = watched(model, optimizer, tmp_path / reduction, body, steps=5)
        found.append([term["made_by"] for event in run.events_of("loss_terms") for term in event.data["terms"]])
    assert found == [["NllLoss"], []]
