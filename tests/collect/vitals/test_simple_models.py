"""The plainest models, fitted to the run's own examples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.simple_models import features, tried


def run_of(tmp_path, model, batch, loss, steps=30):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    asked = []

    def body(step, monitor):
        x, y = batch(step)
        optimizer.zero_grad()
        answers = model(x)
        asked.append((answers.detach(), y))
        loss(answers, y).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=steps), asked


def test_the_share_of_wrong_classes_is_that_of_the_batch(tmp_path):
    weights = torch.randn(6, 3)

    def batch(step):
        x = torch.randn(40, 6)
        return x, (x @ weights).argmax(1)

    run, asked = run_of(tmp_path, nn.Linear(6, 3), batch, F.cross_entropy)
    errors = run.series("fit_error")
    for step, value in zip(errors.steps, errors.values, strict=True):
        answers, labels = asked[int(step)]
        wrong = sum(int(np.argmax(row)) != int(label) for row, label in zip(answers.tolist(), labels, strict=True))
        assert value == pytest.approx(wrong / len(labels), abs=1e-6)
    simple = run.config["simple_models"]
    assert simple["classes"] == 3
    assert simple["linear"] < 0.25 < simple["guess"]


def test_numbers_are_judged_by_their_squared_error(tmp_path):
    def batch(step):
        x = torch.randn(40, 5)
        return x, x[:, :1] * 3 + 7

    run, asked = run_of(tmp_path, nn.Linear(5, 1), batch, F.l1_loss)
    first = int(run.series("fit_error").steps[0])
    answers, targets = (each.double().numpy() for each in asked[first])
    assert run.series("fit_error").values[0] == pytest.approx(float(((answers - targets) ** 2).mean()), rel=1e-5)
    simple = run.config["simple_models"]
    assert simple["classes"] == 0
    assert simple["linear"] < 0.05 * simple["guess"]
    assert simple["guess"] == pytest.approx(9, rel=0.4)


def test_a_batch_that_comes_again_and_again_proves_nothing(tmp_path):
    x = torch.randn(40, 6)
    run, _ = run_of(tmp_path, nn.Linear(6, 1), lambda step: (x, x[:, :1]), F.mse_loss)
    assert "simple_models" not in run.config


def test_words_are_counted():
    tokens = torch.randint(0, 50, (400, 12), generator=torch.Generator().manual_seed(0))
    labels = (tokens < 8).sum(1).clamp(max=3)
    linear, _, guess, examples = tried(features(tokens), labels, 4).tolist()
    assert linear < 0.6 * guess
    assert examples == 100


def test_one_large_batch_stands_for_all_and_a_loss_by_hand_is_read(tmp_path):
    x = torch.randn(1400, 5)
    y = x.sum(1, keepdim=True)
    order = y.flatten().argsort()  # sorted, as files are

    run, _ = run_of(tmp_path, nn.Linear(5, 1), lambda step: (x[order], y[order]), lambda a, b: ((a - b) ** 2).mean())
    simple = run.config["simple_models"]
    assert simple["examples"] == 128
    assert simple["linear"] < 0.05 * simple["guess"]
    assert simple["guess"] == pytest.approx(float(y.var()), rel=0.5)
    assert run.config["target_variance"] == pytest.approx(float(y.var(correction=0)), rel=1e-4)
    assert len(run.series("fit_error"))
