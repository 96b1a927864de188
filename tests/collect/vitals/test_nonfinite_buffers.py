"""Buffers that hold a NaN."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def recorded(tmp_path, bad_at):
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    model.register_buffer("mask", torch.full((3, 3), float("-inf")))
    model.register_buffer("best", torch.tensor(float("inf")))
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
    assert recorded(tmp_path, bad_at=5) == [(5, ["1.running_mean", "1.running_var"])]


def test_a_mask_of_infinities_is_no_statistic(tmp_path):
    assert not recorded(tmp_path, bad_at=None)


def test_a_table_of_averages_that_turns_nan_is_named(tmp_path):
    """As the averages of a vector quantiser are: a buffer of two dimensions that the forward writes."""
    model = nn.Linear(4, 3)
    model.register_buffer("averages", torch.ones(5, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        model.averages.mul_(0.0 if step == 3 else 1.0)
        model.averages.div_(model.averages.sum())
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=10)
    assert [(e.step, e.data["names"]) for e in run.events_of("nonfinite_buffers")] == [(3, ["averages"])]


def test_statistics_that_were_loaded_as_nan_are_named(tmp_path):
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    model[1].running_mean.fill_(float("nan"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=10)
    assert [e.data["names"] for e in run.events_of("nonfinite_buffers")] == [["1.running_mean"]]
