"""Inputs, targets and labels, against the whole batch in float64."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.inputs import fingerprint


def train(tmp_path, batch, steps=6, loss=F.cross_entropy, model=None, **options):
    model = model or nn.Linear(30, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        x, y = batch(step)
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps, **options)


def classes(step, size=32):
    return torch.randn(size, 30), torch.randint(10, (size,))


def test_statistics_of_a_batch(tmp_path):
    seen = []

    def batch(step):
        seen.append((3 * torch.randn(32, 30) + 1, torch.randint(10, (32,))))
        return seen[-1]

    run = train(tmp_path, batch)
    for step, (x, _) in enumerate(seen):
        x = x.double()
        expected = {
            "input_mean": x.mean(),
            "input_std": x.std(correction=0),
            "input_max": x.abs().max(),
            "input_rms": x.square().mean().sqrt(),
        }
        for vital, value in expected.items():
            assert run.series(vital).values[step] == pytest.approx(float(value), rel=1e-5), vital
    assert run.series("nonfinite_inputs").values.tolist() == [0] * 6


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_one_bad_element_in_any_input_or_target_is_counted(bad, tmp_path):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(30, 1)

        def forward(self, x, extra=None):
            return self.linear(x)

    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def body(step, monitor):
        x, extra, y = torch.randn(32, 30), torch.randn(32, 5), torch.randn(32, 1)
        if step == 2:
            extra[17, 3] = bad
        if step == 3:
            y[9, 0] = bad
        optimizer.zero_grad()
        F.mse_loss(model(x, extra=extra), y).backward()

        optimizer.step()

    run = watched(model, optimizer, tmp_path, body)
    assert run.series("nonfinite_inputs").values.tolist() == [0, 0, 1, 0, 0, 0]
    assert run.series("nonfinite_targets").values.tolist() == [0, 0, 0, 1, 0, 0]


def test_the_same_batch_has_the_same_fingerprint_and_others_have_others(tmp_path):
    torch.manual_seed(0)
    batches = [classes(0) for _ in range(3)]
    run = train(tmp_path, lambda step: batches[step % 3])
    marks = run.series("batch_fingerprint").values
    assert marks[:3].tolist() == marks[3:].tolist()
    assert len(set(marks.tolist())) == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_a_fingerprint_is_taken_of_any_kind_of_batch_and_knows_the_order_of_its_rows(dtype):
    torch.manual_seed(0)
    batch = torch.randint(0, 2 if dtype is torch.bool else 1000, (32, 30)).to(dtype)
    assert fingerprint(batch) == fingerprint(batch.clone())
    assert fingerprint(batch) != fingerprint(batch.flip(0))


def test_tokens_are_recognised_too(tmp_path):
    model = nn.Sequential(nn.Embedding(50, 4), nn.Flatten(), nn.Linear(32, 10))
    run = train(tmp_path, lambda step: (torch.randint(50, (16, 8)), torch.randint(10, (16,))), model=model)
    assert len(set(run.series("batch_fingerprint").values.tolist())) == 6
    assert not run.series("input_rms")


def test_waiting_for_data_is_timed(tmp_path):
    def batch(step):
        time.sleep(0.05)
        return classes(step)

    waits = train(tmp_path, batch, steps=4).series("data_wait")
    assert waits.steps.tolist() == [1, 2, 3]
    assert waits.values.min() >= 0.05


def test_label_balance_and_entropy(tmp_path):
    torch.manual_seed(0)
    seen = []

    def batch(step):
        y = torch.randint(10, (64,)).clamp(max=3)  # class 3 has seven tenths
        y[:4] = -100
        seen.append(y[4:])
        return torch.randn(64, 30), y

    run = train(tmp_path, batch, steps=30)
    counts = np.bincount(torch.cat(seen).numpy(), minlength=10) / (30 * 60)
    expected = -sum(p * math.log(p) for p in counts if p)
    assert run.config["label_entropy"] == pytest.approx(expected, rel=1e-6)
    assert run.config["classes"] == 10
    assert run.series("label_share_max").last == pytest.approx(0.7, abs=0.1)
    assert run.series("label_entropy").last == pytest.approx(expected, abs=0.15)
    assert run.series("batch_label_spread").values.mean() == pytest.approx(expected / math.log(10), abs=0.03)


def test_labels_that_come_sorted_look_lopsided_at_every_moment(tmp_path):
    run = train(tmp_path, lambda step: (torch.randn(32, 30), torch.full((32,), step // 30)), steps=90)
    assert run.series("label_share_max").values[29::30].min() > 0.9
    assert run.series("batch_label_spread").values.max() == 0.0
    assert run.config["label_entropy"] == pytest.approx(math.log(3), rel=1e-6)


def test_the_variance_of_regression_targets(tmp_path):
    torch.manual_seed(0)
    targets = [torch.randn(32, 2) * torch.tensor([1.0, 5.0]) + 7 for _ in range(10)]
    run = train(
        tmp_path,
        lambda step: (torch.randn(32, 30), targets[step]),
        steps=10,
        loss=F.mse_loss,
        model=nn.Linear(30, 2),
    )
    expected = torch.cat(targets).double().var(0, correction=0).mean()
    assert run.config["target_variance"] == pytest.approx(float(expected), rel=1e-6)


def test_a_model_without_any_tensor_input_is_watched_all_the_same(tmp_path):
    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = nn.Parameter(torch.ones(3))

        def forward(self, name):
            return self.value.square().sum()

    model = Constant()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        model("batch").backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body)
    assert not run.series("batch_fingerprint")
    assert len(run.series("data_wait")) == 5


def test_evaluations_are_not_taken_for_batches(tmp_path):
    model = nn.Sequential(nn.Linear(30, 10), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        model.eval()
        with torch.no_grad():
            model(1000 * torch.randn(8, 30))
        model(1000 * torch.randn(8, 30))
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 30)), torch.randint(10, (8,))).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body)
    assert run.series("input_rms").since(1).values.max() < 2


def test_of_absolute_errors_the_deviation_of_the_targets_is_told(tmp_path):
    torch.manual_seed(0)
    targets = [torch.randn(32, 1) * 800 + 5000 for _ in range(10)]
    run = train(
        tmp_path,
        lambda step: (torch.randn(32, 30), targets[step]),
        steps=10,
        loss=F.huber_loss,
        model=nn.Linear(30, 1),
    )
    expected = torch.stack([(each - each.mean()).abs().mean() for each in targets]).mean()
    assert run.config["target_deviation"] == pytest.approx(float(expected), rel=1e-5)
    assert "target_variance" not in run.config


def test_the_balance_of_yes_or_no_targets_is_told_and_no_chance_level(tmp_path):
    target = (torch.arange(50) == 7).float()[:, None]
    run = train(
        tmp_path,
        lambda step: (torch.randn(50, 30), target),
        steps=12,
        loss=F.binary_cross_entropy_with_logits,
        model=nn.Linear(30, 1),
    )
    assert run.series("label_share_max").last == pytest.approx(49 / 50)
    assert not {"classes", "label_entropy"} & set(run.config)


def test_the_constant_targets_of_a_critic_are_no_labels(tmp_path):
    run = train(
        tmp_path,
        lambda step: (torch.randn(50, 30), torch.full((50, 1), float(step % 2))),
        steps=12,
        loss=F.binary_cross_entropy_with_logits,
        model=nn.Linear(30, 1),
    )
    assert not run.series("label_share_max")


def test_a_single_number_in_a_tensor_of_its_own_is_not_the_batch(tmp_path):
    class Tempered(nn.Linear):
        def forward(self, given):
            temperature, x = given
            return super().forward(x) / temperature

    def batch(step):
        x, y = classes(step)
        return (torch.tensor([1008.0]), x), y

    run = train(tmp_path, batch, model=Tempered(30, 10))
    assert abs(run.series("input_mean").values).max() < 1
    assert len(set(run.series("batch_fingerprint").values)) == 6
