"""When causal speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Finding, NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.causal import causal
from bedside.preflight.example_setup import examined

TEXT = torch.randint(0, 20, (96, 9), generator=torch.Generator().manual_seed(0))


class Words(nn.Module):
    def __init__(self, causal: bool):
        super().__init__()
        self.token, self.head, self.causal = nn.Embedding(20, 16), nn.Linear(16, 20), causal

    def forward(self, x):
        hidden = self.token(x)
        return self.head(F.scaled_dot_product_attention(hidden, hidden, hidden, is_causal=self.causal))


def flat(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def test_speaks_when_the_mask_is_missing():
    found = examined(causal, lambda: Words(causal=False), x=TEXT[:, :-1], y=TEXT[:, 1:], loss_fn=flat)
    assert isinstance(found, Finding)
    assert found.evidence["changed"] == 7


def test_speaks_when_targets_were_not_shifted():
    found = examined(causal, lambda: Words(causal=True), x=TEXT, y=TEXT, loss_fn=flat)
    assert found.severity is Severity.WARNING
    assert found.message.startswith("100 % of the targets are the input token")


def test_stays_silent_when_the_model_is_causal():
    found = examined(causal, lambda: Words(causal=True), x=TEXT[:, :-1], y=TEXT[:, 1:], loss_fn=flat)
    assert isinstance(found, Passed)


def test_other_tasks_are_not_examined():
    assert isinstance(examined(causal), NotExamined)
    assert isinstance(examined(causal, lambda: Words(causal=False), x=TEXT, y=TEXT.flip(1), loss_fn=flat), NotExamined)


def test_stays_silent_when_a_decoder_shifts_its_targets_itself():
    class Taught(Words):
        def forward(self, x):
            return super().forward(torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1))

    found = examined(causal, lambda: Taught(causal=True), x=TEXT, y=TEXT, loss_fn=flat)
    assert isinstance(found, NotExamined)
