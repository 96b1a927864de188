"""Class weights and label counts, from the graph of the loss."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

LABELS = torch.tensor([0] * 12 + [1] * 3 + [2])
LOSSES = {
    "weight": (lambda out: F.cross_entropy(out, LABELS, weight=torch.tensor([0.75, 0.2, 0.05])), [0.75, 0.2, 0.05]),
    "beside another task": (
        lambda out: out.square().mean() + F.cross_entropy(out, LABELS, weight=torch.tensor([1.0, 2.0, 3.0])),
        [1.0, 2.0, 3.0],
    ),
    "pos_weight": (
        lambda out: F.binary_cross_entropy_with_logits(out[:, 0], (LABELS == 2).float(), pos_weight=torch.tensor(15.0)),
        [1.0, 15.0],
    ),
    "none": (lambda out: F.cross_entropy(out, LABELS), None),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_the_record_has_the_weights_and_how_often_each_class_occurs(kind, tmp_path):
    loss_of, weights = LOSSES[kind]
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def body(step, monitor):
        optimizer.zero_grad()
        loss_of(model(torch.randn(16, 4))).backward()
        optimizer.step()

    events = watched(model, optimizer, tmp_path, body, steps=20).events_of("class_weights")
    if weights is None:
        assert not events
        return
    assert len(events) == 10
    assert events[0].data["weights"] == pytest.approx(weights)
    assert events[0].data["counts"] == ([12.0, 3.0, 1.0] if len(weights) == 3 else [15.0, 1.0])
