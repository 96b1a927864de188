"""When batchnorm-statistics speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.batchnorm_statistics import batchnorm_statistics
from bedside.preflight.example_setup import examined


def a_net():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))


def test_speaks_when_statistics_are_not_finite():
    model = a_net()
    model[1].running_var[3] = float("nan")
    assert examined(batchnorm_statistics, model).severity is Severity.ERROR


def test_speaks_when_images_come_one_by_one():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    single = [(torch.randn(1, 1, 4, 4), torch.zeros(1, dtype=torch.long)) for _ in range(4)]
    found = examined(batchnorm_statistics, model, train_loader=single)
    assert isinstance(found, Finding)
    assert found.message == "Batches have one sample: 1 normalise each by itself."


def test_stays_silent_with_ordinary_batches():
    assert isinstance(examined(batchnorm_statistics, a_net()), Passed)


def test_a_frozen_norm_is_not_examined():
    model = a_net()
    model[1].eval()
    assert isinstance(examined(batchnorm_statistics, model), NotExamined)
    assert isinstance(examined(batchnorm_statistics), NotExamined)
