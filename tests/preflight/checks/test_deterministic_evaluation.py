"""When deterministic-evaluation speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.deterministic_evaluation import deterministic_evaluation
from bedside.preflight.example_setup import examined


class Sampling(nn.Linear):
    def forward(self, x):
        return super().forward(x + torch.randn_like(x))


class Attending(nn.Linear):
    def forward(self, x):
        x = F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], dropout_p=0.3)[:, 0]
        return super().forward(x)


def test_speaks_when_attention_drops_in_evaluation():
    found = examined(deterministic_evaluation, Attending(8, 3))
    assert found.severity is Severity.WARNING
    assert found.message.startswith("scaled_dot_product_attention with a rate of 0.3 drops")


def test_sampling_by_design_is_a_note():
    found = examined(deterministic_evaluation, Sampling(8, 3))
    assert found.severity is Severity.NOTE
    assert found.evidence["drawn_by"] == ["randn_like"]


def test_stays_silent_with_dropout_modules():
    def model():
        return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 3))

    assert isinstance(examined(deterministic_evaluation, model), Passed)
