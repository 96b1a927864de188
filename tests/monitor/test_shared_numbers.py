"""Rank 0 picks up what other ranks wrote: each number once, as soon as all have it, and never a share for the whole."""

from __future__ import annotations

import numpy as np

from bedside.monitor.shared_numbers import SharedNumbers
from bedside.record.run import Event
from bedside.record.sqlite.writer import Store

COLUMNS = (("grad_norm", ""), ("nonfinite_grads", ""))
KEY = ("val/loss", "")


def two_ranks(folder):
    stores = [Store.create(folder, rank) for rank in (0, 1)]
    for rank, store in enumerate(stores):
        store.event(Event(0, "ranks", {"rank": rank, "world_size": 2, "sharded": True}))
    return stores


def write(store, norm, steps):
    rows = np.tile([norm, 0.0], (len(steps), 1))
    store.rows(store.declare("norms", COLUMNS, "f8"), steps, [0.0] * len(steps), rows)
    store.metric(steps[-1], "val/loss", norm)
    store.metric(steps[-1], "samples", 1.0, "val/loss")
    store.commit()


class Taken:
    def __init__(self):
        self.rows, self.metrics = [], []

    def from_(self, shared):
        shared.pick_up(
            lambda keys, steps, values: self.rows.extend(zip(steps, values[:, 0].tolist(), strict=True)),
            lambda step, key, value: self.metrics.append((step, value)),
        )


def test_each_number_is_picked_up_once_when_all_ranks_have_it(tmp_path):
    first, second = two_ranks(tmp_path)
    shared = SharedNumbers(tmp_path, 0, sharded=True)
    assert shared.takes(COLUMNS)
    shared.takes_metric(KEY)
    taken = Taken()
    write(first, 3.0, [0, 1])
    taken.from_(shared)
    assert taken.rows == []  # one rank's share is not the whole
    write(second, 4.0, [0])
    taken.from_(shared)
    assert taken.rows == [(0, 5.0)]
    write(second, 4.0, [1])
    taken.from_(shared)
    taken.from_(shared)
    assert taken.rows == [(0, 5.0), (1, 5.0)]
    assert taken.metrics[-1] == (1, 3.5)
    for store in (first, second):
        store.close()


def test_what_every_rank_knows_alone_is_not_waited_for(tmp_path):
    assert not SharedNumbers(tmp_path, 0, sharded=False).takes(COLUMNS)
    assert not SharedNumbers(tmp_path, 0, sharded=True).takes((("loss", ""),))


def test_a_folder_that_cannot_be_read_is_tried_again_later(tmp_path):
    shared = SharedNumbers(tmp_path / "gone", 0, sharded=True)
    shared.takes(COLUMNS)
    taken = Taken()
    taken.from_(shared)
    assert taken.rows == []
