"""Validation answers under other readings of their targets."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def seen(tmp_path, answer, batches, loss):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        optimizer.step()
        with torch.no_grad():
            for batch in batches:
                loss(answer(model, batch), batch)

    run = watched(model, optimizer, tmp_path, body, steps=3)
    return [event.data for event in run.events_of("evaluation_answers")]


def test_a_renaming_of_the_labels_is_recognised_over_several_batches(tmp_path):
    labels = torch.arange(90) % 3
    told = seen(tmp_path, lambda m, y: F.one_hot((y + 1) % 3, 3).float(), labels.split(30), F.cross_entropy)
    assert len(told) == 3  # one for each evaluation
    assert told[0]["examples"] == 90
    assert (told[0]["right"], told[0]["renamed"], told[0]["labels"]) == (0.0, 1.0, 3)


def test_labels_one_place_off_are_recognised(tmp_path):
    labels = torch.randint(0, 3, (300,), generator=torch.Generator().manual_seed(0))
    told = seen(tmp_path, lambda m, y: F.one_hot(y.roll(1), 3).float(), [labels], F.cross_entropy)
    assert told[0]["back"] == pytest.approx(1.0)
    assert told[0]["right"] < 0.5


def test_another_unit_is_recognised(tmp_path):
    targets = torch.linspace(0, 100, 200)
    told = seen(tmp_path, lambda m, y: (y - 32) / 1.8, targets.split(50), F.mse_loss)
    assert told[0]["factor"] == pytest.approx(1.8, rel=1e-4)
    assert told[0]["offset"] == pytest.approx(32, rel=1e-4)
    assert told[0]["line"] < 1e-3 * told[0]["spread"]


def test_losses_of_training_do_not_count(tmp_path):
    assert not seen(tmp_path, lambda m, y: None, [], F.cross_entropy)


def test_the_last_batch_and_the_examples_are_counted_besides(tmp_path):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        optimizer.step()
        with torch.no_grad():
            for size in (30, 6):
                answers = model(torch.randn(size, 4))
                labels = answers.argmax(1)
                F.cross_entropy(answers, (labels + (size == 30)) % 3)

    run = watched(model, optimizer, tmp_path, body, steps=3)
    told = run.events_of("evaluation_answers")[0].data
    assert (told["calls"], told["rows"], told["examples"]) == (2, 36, 36)
    assert (told["last_right"], told["last_examples"]) == (1.0, 6)
    assert told["right"] == pytest.approx(6 / 36)
