"""When signal-propagation speaks and when it stays silent."""

from __future__ import annotations

from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.signal_propagation import signal_propagation
from bedside.preflight.example_setup import examined


def deep(gain: float, layers: int = 12):
    def make():
        model = nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(8, 8), nn.ReLU())], nn.Linear(8, 3))
        for layer in model[::2]:
            nn.init.normal_(layer.weight, std=gain / 8**0.5)
        return model

    return make


def test_speaks_when_the_signal_explodes():
    assert "explodes" in examined(signal_propagation, deep(6.0)).message


def test_speaks_when_the_signal_vanishes():
    found = examined(signal_propagation, deep(0.3, layers=20))
    assert isinstance(found, Finding)


def test_stays_silent_with_he_initialisation_and_with_torchs_own():
    assert isinstance(examined(signal_propagation, deep(2**0.5)), Passed)

    def default():
        return nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(8, 8), nn.Tanh())], nn.Linear(8, 3))

    assert isinstance(examined(signal_propagation, default), Passed)


def test_two_layers_are_not_examined():
    assert isinstance(examined(signal_propagation), NotExamined)
