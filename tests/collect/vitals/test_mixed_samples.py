"""Whether one sample's answer depends on the others of its batch."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


class Attends(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.embed, self.head = nn.Linear(3, 8), nn.Linear(8, 4)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=batch_first)

    def forward(self, x):
        h = self.embed(x)
        return self.head((h + self.attn(h, h, h, need_weights=False)[0]).mean(1))


class Recurs(nn.Module):
    """batch_first=True was forgotten."""

    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Normalises(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x):
        return self.fc((x - x.mean(0)) / x.std(0))


def recorded(model, tmp_path, shape=(12, 6), steps=14, same_batch=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    fixed = torch.randn(shape)

    def body(step, monitor):
        x = fixed if same_batch else torch.randn(shape)
        optimizer.zero_grad()
        F.cross_entropy(model(x), torch.randint(4, (shape[0],))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data for event in run.events_of("mixed_samples")]


MIXING = {
    "softmax over the batch": (nn.Sequential(nn.Linear(6, 4), nn.LogSoftmax(0)), (12, 6)),
    "attention over the batch": (Attends(batch_first=False), (12, 5, 3)),
    "a recurrence over the batch": (Recurs(), (12, 5, 3)),
    "normalised by hand over the batch": (Normalises(), (12, 6)),
}
APART = {
    "an MLP with BatchNorm and dropout": (
        nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 4)),
        (12, 6),
    ),
    "attention over the sequence": (Attends(batch_first=True), (12, 5, 3)),
}


@pytest.mark.parametrize("name", MIXING)
def test_samples_that_are_mixed_are_told(name, tmp_path):
    model, shape = MIXING[name]
    [event] = recorded(copy.deepcopy(model), tmp_path, shape)
    assert (event["samples"], event["exchanged"], event["changed"]) == (12, 6, 6)
    assert event["change"] > 1e-4


@pytest.mark.parametrize("name", APART)
def test_samples_that_are_answered_one_by_one_are_not(name, tmp_path):
    model, shape = APART[name]
    assert not recorded(copy.deepcopy(model), tmp_path, shape)


def test_a_batch_that_is_always_the_same_may_be_a_graph(tmp_path):
    assert not recorded(Normalises(), tmp_path, same_batch=True)


class Messages(nn.Module):
    """Nodes of one graph a batch, and the edges between them."""

    def __init__(self):
        super().__init__()
        self.own, self.heard = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x, edges):
        return self.own(x) + self.heard(torch.zeros_like(x).index_add(0, edges[1], x[edges[0]]))


def test_nodes_that_an_input_connects_may_talk(tmp_path):
    model = Messages()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def body(step, monitor):
        edges = torch.stack([torch.randint(12, (30,)), torch.randint(12, (30,))])
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(12, 6), edges), torch.randint(4, (12,))).backward()
        optimizer.step()

    assert not watched(model, optimizer, tmp_path, body, steps=14).events_of("mixed_samples")


class TimeFirst(nn.Module):
    """Sequences of (time, batch, features), as nn.GRU takes them by default."""

    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.gru(x)[0][-1])


def test_where_time_is_as_long_as_the_batch_nothing_is_certain(tmp_path):
    assert not recorded(TimeFirst(), tmp_path, shape=(6, 6, 3))


def test_a_table_with_as_many_columns_as_rows_is_tried(tmp_path):
    [event] = recorded(Normalises(), tmp_path, shape=(6, 6))
    assert event["changed"] == event["samples"] - event["exchanged"]


class Pairs(nn.Module):
    """Similarities of all pairs, of vectors that are normalised over `dim`."""

    def __init__(self, dim):
        super().__init__()
        self.fc, self.dim = nn.Linear(6, 4), dim

    def forward(self, x):
        vectors = F.normalize(self.fc(x), dim=self.dim)
        return vectors @ vectors.T


@pytest.mark.parametrize(("dim", "mixes"), [(0, True), (1, False)])
def test_pairs_of_samples_that_stay_are_compared(tmp_path, dim, mixes):
    assert bool(recorded(Pairs(dim), tmp_path)) is mixes
