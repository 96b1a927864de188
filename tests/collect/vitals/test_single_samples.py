"""BatchNorm that sees one sample at a time."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


def recorded(tmp_path, rows, norm=nn.BatchNorm1d):
    model = nn.Sequential(nn.Conv1d(1, 4, 3), norm(4), nn.Flatten(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        model.train()
        optimizer.zero_grad()
        model(torch.randn(rows(step), 1, 8)).pow(2).mean().backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(5, 1, 8))

    run = watched(model, optimizer, tmp_path, body, steps=9)
    return [event.data for event in run.events_of("single_samples")][-1:]


def test_training_forwards_of_one_sample_are_counted(tmp_path):
    [data] = recorded(tmp_path, lambda step: 1)
    assert (data["count"], data["forwards"], data["where"]) == (9, 9, ["1"])
    assert data["evaluations"] == 9


def test_a_single_small_batch_is_counted_as_one(tmp_path):
    [data] = recorded(tmp_path, lambda step: 1 if step == 4 else 8)
    assert (data["count"], data["forwards"]) == (1, 9)


def test_other_normalisations_do_not_look_at_the_batch(tmp_path):
    assert not recorded(tmp_path, lambda step: 1, lambda channels: nn.GroupNorm(2, channels))


def test_two_rows_count_where_each_feature_has_no_other_numbers(tmp_path):
    assert not recorded(tmp_path / "sequences", lambda step: 2)
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(2 if step < 6 else 8, 3)).pow(2).mean().backward()
        optimizer.step()

    [event] = watched(model, optimizer, tmp_path / "table", body, steps=9).events_of("single_samples")[-1:]
    assert (event.data["count"], event.data["forwards"], event.data["rows"]) == (6, 9, 2)
