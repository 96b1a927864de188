"""Buffers that hold a NaN."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def told(tmp_path, bad_at):
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    model.register_buffer("mask", torch.full((3, 3), float("-inf")))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        x = torch.randn(8, 4) * (float("nan") if step == bad_at else 1.0)
        loss = F.cross_entropy(model(x), torch.randint(2, (8,)))
        if torch.isfinite(loss):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=10)
    return [(event.step, event.data["names"]) for event in run.events_of("nonfinite_buffers")]


def test_statistics_that_a_skipped_batch_went_through_are_named_once(tmp_path):
    assert told(tmp_path, bad_at=5) == [(5, ["1.running_mean", "1.running_var"])]


def test_a_mask_of_infinities_is_no_statistic(tmp_path):
    assert not told(tmp_path, bad_at=None)
