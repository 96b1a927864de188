"""When train-mode speaks and when it stays silent."""

from __future__ import annotations

from torch import nn

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.train_mode import train_mode
from bedside.preflight.example_setup import examined


def a_net():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 3))


def test_speaks_in_a_note_when_the_model_is_in_evaluation_mode():
    found = examined(train_mode, a_net().eval())
    assert found.severity is Severity.NOTE
    assert "BatchNorm1d, Dropout rests" in found.message


def test_speaks_when_one_layer_was_left_in_evaluation_mode():
    model = a_net()
    model[1].eval()
    assert examined(train_mode, model).where == ("1",)


def test_stays_silent_in_training_mode_and_where_the_mode_does_not_matter():
    assert isinstance(examined(train_mode, a_net()), Passed)
    assert isinstance(examined(train_mode, nn.Linear(8, 3).eval()), Passed)
