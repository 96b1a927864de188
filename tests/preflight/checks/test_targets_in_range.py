"""When targets-in-range speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.targets_in_range import targets_in_range
from bedside.preflight.example_setup import examined


def test_speaks_when_a_later_batch_has_a_label_out_of_range():
    y = torch.randint(0, 3, (96,))
    y[40] = 3
    found = examined(targets_in_range, y=y, shuffle=False)
    assert isinstance(found, Finding)
    assert found.try_ == ("Give the last layer 4 outputs.",)


def test_speaks_when_one_sigmoid_answers_for_four_classes():
    y = torch.arange(96.0)[:, None] % 4
    found = examined(targets_in_range, lambda: nn.Linear(8, 1), y=y, loss_fn=nn.BCEWithLogitsLoss())
    assert found.try_ == ("For 4 classes: 4 outputs and nn.CrossEntropyLoss.",)


def test_speaks_when_targets_are_beyond_the_last_activation():
    model = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
    found = examined(targets_in_range, model, y=100 * torch.rand(96, 1), loss_fn=nn.MSELoss())
    assert "outside what a sigmoid can answer (0 to 1)" in found.message
    by_hand = lambda output, target: ((output - target) ** 2).mean()  # noqa: E731
    assert isinstance(examined(targets_in_range, model, y=100 * torch.rand(96, 1), loss_fn=by_hand), Finding)


def test_stays_silent_when_labels_are_left_out_or_outliers_are_few():
    y = torch.randint(0, 3, (96,))
    y[:5] = -100
    assert isinstance(examined(targets_in_range, y=y), Passed)
    positive = nn.Sequential(nn.Linear(8, 1), nn.Softplus())
    assert isinstance(examined(targets_in_range, positive, y=torch.rand(96, 1), loss_fn=nn.MSELoss()), Passed)


def test_an_unbounded_regression_is_not_examined():
    found = examined(targets_in_range, lambda: nn.Linear(8, 1), y=torch.randn(96, 1), loss_fn=nn.MSELoss())
    assert isinstance(found, NotExamined)
