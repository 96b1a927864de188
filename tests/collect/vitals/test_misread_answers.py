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


def test_questions_of_yes_or_no_have_two_classes(tmp_path):
    wanted = (torch.arange(80) % 4 == 0).float()[:, None]
    told = seen(tmp_path / "a", lambda m, y: 3 * y - 1, wanted.split(40), F.binary_cross_entropy_with_logits)
    assert (told[0]["right"], told[0]["labels"], told[0]["examples"]) == (1.0, 2, 80)
    told = seen(tmp_path / "b", lambda m, y: 0.8 - 0.6 * y, wanted.split(40), F.binary_cross_entropy)
    assert (told[0]["right"], told[0]["renamed"]) == (0.0, 1.0)
    assert not seen(
        tmp_path / "c", lambda m, y: y, [torch.ones(40, 3)], F.binary_cross_entropy
    )  # several for each example


def test_columns_in_another_order_are_recognised(tmp_path):
    wanted = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    [told, *_] = seen(tmp_path / "a", lambda m, y: y[:, [2, 0, 1]] + 0.01, wanted.split(50), F.mse_loss)
    assert told["order"] == [2, 0, 1]
    assert told["reordered"] == pytest.approx(1e-4, rel=1e-2)
    assert told["column_spread"] == pytest.approx(float(wanted.var(0, correction=0).mean()), rel=1e-4)
    assert told["error"] > told["column_spread"]
    assert "order" not in seen(tmp_path / "b", lambda m, y: y, wanted[:, :1].split(50), F.mse_loss)[0]


def test_a_loss_after_the_block_without_gradients_is_of_the_evaluation_as_well(tmp_path):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(64, 4)

    def body(step, monitor):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x[:8]), torch.ones(8, 1)).backward()
        optimizer.step()
        with torch.no_grad():
            scores = model(x)
        F.binary_cross_entropy_with_logits(scores, (scores > 0).float())

    run = watched(model, optimizer, tmp_path, body, steps=3)
    assert [each.data["right"] for each in run.events_of("evaluation_answers")] == [1.0] * 3


def test_labels_are_counted_class_by_class_on_both_sides(tmp_path):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    labels = torch.tensor([0, 2, 2, 2, 0, 2, -100])

    def body(step, monitor):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(7, 4)), labels).backward()
        optimizer.step()
        with torch.no_grad():
            F.cross_entropy(model(torch.randn(30, 4)), torch.arange(30) % 3)

    run = watched(model, optimizer, tmp_path, body, steps=3)
    assert run.events_of("evaluation_answers")[-1].data["each_label"] == [10, 10, 10]
    assert run.config["each_label"] == [6, 0, 12]
