"""When mixed-precision speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.mixed_precision import mixed_precision
from bedside.preflight.example_setup import examined, examples
from bedside.training.step import Loop


def test_speaks_when_float16_has_no_scaler():
    found = examined(mixed_precision, loop=Loop(autocast=torch.float16))
    assert found.severity is Severity.WARNING
    assert found.message == "float16 is used without a GradScaler: small gradients become zero."


def test_weights_in_bfloat16_are_a_note():
    x, y = examples()
    found = examined(mixed_precision, nn.Linear(8, 3).bfloat16(), x=x.bfloat16(), y=y)
    assert found.severity is Severity.NOTE


def test_stays_silent_with_float32_and_bfloat16_autocast():
    assert examined(mixed_precision).numbers["outputs"] == {"float32": ["0", "1", "2"]}
    found = examined(mixed_precision, loop=Loop(autocast=torch.bfloat16))
    assert isinstance(found, Passed)
    assert found.numbers["outputs"] == {"bfloat16": ["0", "1", "2"]}
