"""Whether the data loader is started anew for every batch."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from bedside.collect.reading import device_queue as queue

DATA = TensorDataset(torch.randn(32, 6), torch.randint(0, 3, (32,)))
UNTOUCHED = DataLoader.__iter__


def loader(batch=8, **more):
    return DataLoader(DATA, batch_size=batch, **more)


def run_of(batches_of_a_step, tmp_path, steps=30, **options):
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        for x, y in batches_of_a_step(model):
            F.cross_entropy(model(x), y).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps, **options)
    assert DataLoader.__iter__ is UNTOUCHED
    return [event.data for event in run.events_of("restarted_loader")]


@pytest.mark.parametrize("on_cpu", [True, False])
def test_an_iterator_made_anew_at_every_step_is_told_once(on_cpu, tmp_path, monkeypatch):
    if not on_cpu:  # as if the batch lay on a device
        monkeypatch.setattr(queue, "on_cpu", lambda tensor: False)
    data = loader()
    [recorded] = run_of(lambda model: [next(iter(data))], tmp_path, steps=50)
    assert recorded == {"batches": 4, "starts": 10, "forwards": 10}


def test_a_shuffled_loader_gives_other_batches(tmp_path):
    data = loader(shuffle=True)
    assert run_of(lambda model: [next(iter(data))], tmp_path) == []


def test_training_on_the_full_batch_is_meant(tmp_path):
    data = loader(batch=32)
    assert run_of(lambda model: list(data), tmp_path) == []


def test_a_full_batch_in_parts_is_meant(tmp_path):
    data = loader()
    assert run_of(lambda model: data, tmp_path) == []


def test_a_batch_that_is_drawn_once_and_learnt_by_heart_is_meant(tmp_path):
    batch = next(iter(loader()))
    assert run_of(lambda model: [batch], tmp_path) == []


def test_an_evaluation_after_every_step_starts_a_loader_by_right(tmp_path):
    data, batch = loader(), next(iter(loader()))

    def body(model):
        with torch.no_grad():
            for x, _ in data:
                model(x)
        return [batch]

    assert run_of(body, tmp_path) == []


class Stream(IterableDataset):
    def __iter__(self):
        return iter(DATA)


def test_a_stream_of_unknown_length_is_not_judged(tmp_path):
    data = DataLoader(Stream(), batch_size=8)
    assert run_of(lambda model: [next(iter(data))], tmp_path) == []


def test_loops_of_a_trainer_are_not_judged(tmp_path):
    names = {"__name__": "lightning.pytorch.loops", "data": loader()}
    exec("def draw(model): return [next(iter(data))]", names)
    assert run_of(names["draw"], tmp_path) == []


def test_nothing_is_replaced_while_batches_differ(tmp_path):
    data = iter(loader(batch=1))
    seen = []

    def body(model):
        seen.append(DataLoader.__iter__ is UNTOUCHED)
        return [next(data)]

    run_of(body, tmp_path)
    assert all(seen)


def test_the_loader_is_put_back_when_watching_ends_early(tmp_path):
    data = loader()
    assert run_of(lambda model: [next(iter(data))], tmp_path, steps=8) == []
