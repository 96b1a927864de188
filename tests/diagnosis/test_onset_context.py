"""What else happened around an onset."""

from __future__ import annotations

import numpy as np

import bedside
from bedside.diagnosis.onset_context import around, changes
from bedside.record.run import Event
from bedside.testing import a_run


def said(run, step):
    return [change.what for change in around(changes(run), step, run.steps)]


def test_the_end_of_a_warm_up():
    rates = [*np.linspace(1e-5, 3e-3, 150), *[3e-3] * 850]
    run = a_run(loss=2.0, lr=rates, steps=1000)
    assert said(run, 150) == ["warm-up ended (lr 0.003)"]
    assert said(run, 300) == []


def test_a_drop_a_restart_and_the_end_of_the_rate():
    run = a_run(lr=[0.1] * 300 + [0.01] * 300 + [0.1] * 300 + [1e-6] * 100)
    assert said(run, 301) == ["the learning rate fell from 0.1 to 0.01"]
    assert said(run, 599) == ["the learning rate rose from 0.01 to 0.1"]
    assert said(run, 900) == ["the learning rate fell from 0.1 to 1e-6", "the learning rate was all but gone (1e-6)"]


def test_an_epoch_that_began_and_a_resume():
    events = [Event(0, "epoch", {"epoch": 0.0}), Event(499, "epoch", {"epoch": 1.0}), Event(502, "resume")]
    assert said(a_run(loss=[1.0] * 1000, events=events), 500) == ["epoch 1 began", "the run was resumed"]


def test_an_epoch_counted_in_the_log():
    assert said(a_run(epoch=[0.5] * 400 + [1.1] * 600), 400) == ["epoch 1 began"]


def test_what_happens_all_the_time_is_no_news():
    events = [Event(step, "epoch", {"epoch": step / 10}) for step in range(0, 1000, 10)]
    assert said(a_run(loss=[1.0] * 1000, events=events), 500) == []


def test_a_batch_unlike_all_others():
    inputs = 1 + 0.01 * np.random.default_rng(0).standard_normal(1000)
    inputs[700] = 40.0
    assert said(a_run(input_max=inputs), 701) == ["a batch came with an unusual largest input (40)"]


def test_inputs_that_are_clipped_and_once_a_little_smaller_are_no_odd_batch():
    inputs = np.ones(1000)
    inputs[700] = 0.97
    assert said(a_run(input_max=inputs), 701) == []
    inputs[700] = 1.5
    assert said(a_run(input_max=inputs), 701) == ["a batch came with an unusual largest input (1.5)"]


def test_the_scaler_and_a_skipped_step():
    run = a_run(loss_scale=[65536.0] * 500 + [32768.0] * 500, skipped=[0.0] * 499 + [1.0] + [0.0] * 500)
    assert set(said(run, 500)) == {"the loss scale fell to 32,768", "the scaler skipped a step"}


def test_findings_carry_what_happened_around_them():
    noise = np.random.default_rng(0)
    calm = 2.0 + 0.02 * noise.standard_normal(500)
    losses = [*calm[:300], *([np.nan] * 200)]
    events = [Event(299, "resume")]
    answer = bedside.diagnose(a_run(loss=losses, lr=[0.1] * 500, events=events))
    assert answer.primary.around == ("the run was resumed",)
