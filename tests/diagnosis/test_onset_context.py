"""What else happened around an onset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bedside
from bedside.diagnosis.onset_context import around, changes, with_onset_context
from bedside.finding import Finding, Severity
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


def test_near_is_half_a_percent_of_the_run_and_three_steps_at_least():
    long = a_run(steps=10_000, lr=[0.1] * 5000 + [0.01] * 5000)
    assert said(long, 5040) != []
    assert said(long, 5060) == []
    short = a_run(lr=[0.1] * 50 + [0.01] * 50)
    assert said(short, 53) != []
    assert said(short, 54) == []


def test_training_that_goes_on_in_training_mode_is_no_change_of_mode():
    def modes(*each):
        return [Event(step, "mode", {"training_forwards": mode}) for step, mode in each]

    assert said(a_run(loss=[1.0] * 1000, events=modes((1, "train"))), 0) == []
    back = modes((1, "eval"), (500, "train"))
    assert said(a_run(loss=[1.0] * 1000, events=back), 500) == ["training forwards ran in train mode"]


def test_what_is_nearest_is_named_first():
    events = [Event(498, "resume"), Event(501, "coverage"), Event(505, "mode", {"training_forwards": "evaluation"})]
    nearest = said(a_run(loss=[1.0] * 1000, events=events), 502)
    assert [each.split()[0] for each in nearest] == ["the", "training", "the"]
    assert nearest[0].startswith("the model's")
    assert nearest[-1] == "the run was resumed"


@pytest.mark.parametrize(("apart", "news"), [(30, False), (80, True)])
def test_an_epoch_is_news_if_it_is_not_always_near_one(apart, news):
    events = [Event(step, "epoch", {"epoch": step / apart}) for step in range(0, 1000, apart)]
    assert bool(said(a_run(loss=[1.0] * 1000, events=events), 10 * apart)) is news


@pytest.mark.parametrize(("times", "noted"), [(1.7, False), (2.5, True)])
def test_a_rate_that_halves_is_a_drop_and_one_that_decays_is_not(times, noted):
    assert bool(said(a_run(lr=[0.1] * 500 + [0.1 / times] * 500), 500)) is noted
    assert bool(said(a_run(lr=[0.1] * 300 + [0.05] * 200 + [0.05 * times] * 500), 500)) is noted


@pytest.mark.parametrize(("end", "gone"), [(5e-4, True), (2e-3, False)])
def test_a_rate_is_all_but_gone_below_a_thousandth_of_its_peak(end, gone):
    rates = np.r_[np.full(500, 0.1), np.full(500, 0.1 * end)]
    assert any("all but gone" in each for each in said(a_run(lr=rates), 500)) is gone


def test_a_warm_up_ends_where_the_rate_is_at_its_peak_and_begins_below_half_of_it():
    warm = [*np.linspace(1e-5, 3e-3, 101), *[3e-3] * 899]
    assert said(a_run(lr=warm), 99) == ["warm-up ended (lr 0.003)"]
    assert said(a_run(lr=warm), 80) == []
    high = [*np.linspace(2e-3, 3e-3, 101), *[3e-3] * 899]
    assert said(a_run(lr=high), 100) == []


@pytest.mark.parametrize(("sigmas", "odd"), [(6, False), (10, True)])
def test_a_batch_is_odd_from_eight_sigmas_on(sigmas, odd):
    inputs = 1 + 0.1 * np.random.default_rng(0).standard_normal(1000)
    inputs[700] = 1 + 0.1 * sigmas
    assert bool(said(a_run(input_max=inputs), 700)) is odd


def with_loss_of(sigmas, before=60):
    losses = 2.0 + 0.1 * np.tile([-1.0, 1.0], 100) / 1.4826
    losses[before] = 2.0 + 0.1 * sigmas
    return Finding("GRD102", "a", Severity.WARNING, "It is so.", 0.9, before, 199), a_run(loss=losses)


@pytest.mark.parametrize(("sigmas", "before", "odd"), [(6, 60, False), (12, 60, True), (12, 15, False)])
def test_a_loss_far_above_those_before_is_named_beside_an_onset_that_is_not_of_the_loss(sigmas, before, odd):
    finding, run = with_loss_of(sigmas, before)
    [told] = with_onset_context(run, [finding])
    assert any("a batch had a loss of" in each for each in told.around) is odd
    of_the_loss = replace(finding, code="LOS107")
    assert with_onset_context(run, [of_the_loss])[0].around == ()
