"""When independent-samples speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.independent_samples import independent_samples
from bedside.preflight.example_setup import examined, examples


class OverTheBatch(nn.Module):
    """Attention that takes the batch for the sequence."""

    def __init__(self):
        super().__init__()
        self.attend, self.head = nn.MultiheadAttention(8, 2), nn.Linear(8, 3)

    def forward(self, x):
        x = x[:, None]
        return self.head(self.attend(x, x, x)[0][:, 0])


def test_speaks_when_attention_runs_over_the_batch():
    found = examined(independent_samples, OverTheBatch)
    assert isinstance(found, Finding)
    assert found.evidence["changed"] == 8


def test_stays_silent_with_batchnorm_dropout_and_layernorm():
    def model():
        return nn.Sequential(nn.Linear(8, 9), nn.BatchNorm1d(9), nn.Dropout(0.5), nn.LayerNorm(9), nn.Linear(9, 3))

    assert isinstance(examined(independent_samples, model), Passed)


def test_one_graph_is_not_examined():
    x, y = examples(20)
    assert isinstance(examined(independent_samples, OverTheBatch, train_loader=[(x, y)] * 4), NotExamined)
    assert isinstance(examined(independent_samples, train_loader=[(x[:2], y[:2])]), NotExamined)
    assert torch.is_tensor(x)


def test_samples_that_are_mixed_at_random_are_not_examined():
    def mixed(model, batch):
        return model(0.5 * batch[0] + 0.5 * batch[0][torch.randperm(len(batch[0]))])

    assert isinstance(examined(independent_samples, forward=mixed), NotExamined)
