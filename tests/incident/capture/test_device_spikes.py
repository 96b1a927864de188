"""Beyond the run's own spread, upwards, after the first steps."""

from __future__ import annotations

import pytest
import torch

from bedside.incident.capture.device_spikes import EXEMPT, WINDOW, Spikes


def spikes_in(values, multiple=6.0):
    check = Spikes(multiple)
    return [number for number, value in enumerate(values) if check.check(torch.tensor(float(value)))]


def test_a_quiet_run_has_none():
    torch.manual_seed(0)
    assert spikes_in(2.0 + 0.1 * torch.randn(1000)) == []


def test_a_falling_loss_has_none():
    torch.manual_seed(0)
    steps = torch.arange(2000)
    assert spikes_in(5 * torch.exp(-steps / 300) + 0.5 + 0.05 * torch.randn(2000)) == []


@pytest.mark.parametrize("at", [EXEMPT, WINDOW + 3, 900])
def test_one_far_value_is_one(at):
    torch.manual_seed(0)
    values = 2.0 + 0.1 * torch.randn(1000)
    values[at] = 6.0
    assert spikes_in(values) == [at]


def test_the_first_steps_are_exempt_and_down_is_no_spike():
    values = torch.full((300,), 2.0)
    values[EXEMPT - 1] = 100.0
    values[200] = -100.0
    assert spikes_in(values) == []


def test_what_is_not_finite_is_neither_a_spike_nor_history():
    values = torch.full((300,), 2.0)
    values[100:120] = float("nan")
    values[130] = 50.0
    assert spikes_in(values) == [130]


def test_a_run_that_stands_still_is_not_judged_by_its_rounding():
    values = torch.full((300,), 2.0)
    values[200] = 2.0001
    assert spikes_in(values) == []
