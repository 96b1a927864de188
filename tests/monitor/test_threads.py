"""Two trainings in two threads: each record has its own losses, all of them, and nothing of the other's."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside


def train(model, optimizer, level, steps, losses, barrier=None):
    """Losses around `level`, so that one training's are never taken for the other's."""
    generator = torch.Generator().manual_seed(level)
    for _ in range(steps):
        if barrier is not None:
            barrier.wait(60)
        optimizer.zero_grad()
        outputs = model(torch.randn(16, 8, generator=generator))
        loss = F.mse_loss(outputs, torch.randn(16, 4, generator=generator)) * 1e-3 + level
        loss.backward()
        losses.append(loss.item())
        optimizer.step()


def a_training(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


@pytest.mark.parametrize("vitals", [None, ["loss"]])
@pytest.mark.parametrize("together", [True, False])
def test_each_thread_records_its_own_losses_and_all_of_them(together, vitals, tmp_path):
    barrier = threading.Barrier(2) if together else None
    losses, failures = {1: [], 100: []}, []
    steps = 60 if vitals is None else 200

    def run(level):
        try:
            model, optimizer = a_training(level)
            with bedside.watch(model, optimizer, run_dir=tmp_path / str(level), quiet=True, vitals=vitals):
                train(model, optimizer, level, steps, losses[level], barrier)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run, args=(level,)) for level in losses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for level, expected in losses.items():
        record = bedside.load(tmp_path / str(level))
        assert record.loss.values.tolist() == pytest.approx(expected)
        assert set(record.series("micro_batches").values) == {1.0}
        assert not record.events_of("switched_off")


def test_watched_here_and_trained_elsewhere_beside_a_training_that_nobody_watches(tmp_path):
    model, optimizer = a_training(1)
    other, others = a_training(2)
    losses, unwatched = [], []
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, vitals=["loss"]):
        threads = [
            threading.Thread(target=train, args=(model, optimizer, 1, 200, losses)),
            threading.Thread(target=train, args=(other, others, 100, 200, unwatched)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert bedside.load(tmp_path / "run").loss.values.tolist() == pytest.approx(losses)
