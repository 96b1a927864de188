"""Live looks pay for themselves out of a share of the run's time, also while a run of slow steps is young."""

from __future__ import annotations

import numpy as np

from bedside.monitor import alarms
from bedside.monitor.alarms import EARLY_SECONDS, Alarms
from bedside.testing import a_run


class Clock:
    """Time goes by only when somebody lets it."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def looks_of_a_slow_run(monkeypatch, *, share: float, steps: int, step_takes: float, look_takes: float) -> Alarms:
    clock = Clock()
    monkeypatch.setattr(alarms, "time", clock)
    run = a_run(loss=[1.0, 0.9, 0.8])
    listening = Alarms(lambda: run, on_alarm=lambda finding: None, share=share, rules=())
    for step in range(steps):
        clock.now += step_takes
        if listening.due(step, np.asarray([1.0])):
            listening.look(lambda: setattr(clock, "now", clock.now + look_takes))
    return listening


def test_a_run_of_slow_steps_is_not_looked_at_every_second(monkeypatch):
    listening = looks_of_a_slow_run(monkeypatch, share=0.002, steps=400, step_takes=1.0, look_takes=0.03)
    assert listening.looks > 10
    assert listening.looks * 0.03 <= EARLY_SECONDS + 0.03 + 0.002 * 412


def test_a_short_run_is_looked_at_while_it_runs(monkeypatch):
    listening = looks_of_a_slow_run(monkeypatch, share=0.002, steps=300, step_takes=0.001, look_takes=0.02)
    assert listening.looks >= 10
