from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.stuck_from_start import stuck_from_start
from bedside.testing import a_run


def flat(level, n=300, noise=0.01, seed=0):
    return level + noise * np.random.default_rng(seed).normal(size=n)


def test_speaks_at_the_chance_level_of_a_known_number_of_classes():
    (finding,) = stuck_from_start.check(a_run(loss=flat(np.log(37)), config={"num_classes": 37}, lr=1e-5))
    assert finding.severity == Severity.WARNING
    assert finding.confidence > 0.9
    assert "ln 37" in finding.message
    assert "from 1e-5 to about 1e-4" in finding.try_[0]


def test_recognises_chance_from_the_value_with_less_confidence():
    (finding,) = stuck_from_start.check(a_run(loss=flat(np.log(2), noise=0.003)))
    assert finding.severity == Severity.WARNING
    assert finding.confidence < 0.9


def test_speaks_when_the_loss_creeps_at_a_learning_rate_of_next_to_nothing():
    loss = np.linspace(2.1, 2.095, 300) + flat(0, noise=0.0005)
    (finding,) = stuck_from_start.check(a_run(loss=loss, lr=1e-8))
    assert "fallen by only 0.002 of its level" in finding.message


def test_speaks_when_many_epochs_changed_nothing():
    (finding,) = stuck_from_start.check(a_run(loss=flat(1.234), epoch=np.linspace(0, 8, 300)))
    assert "8 epochs" in finding.message


def test_speaks_when_the_accuracy_stays_at_nothing():
    (finding,) = stuck_from_start.check(a_run(steps=5000, val_loss=flat(6.1, n=12), val_accuracy=[0.001] * 12))
    assert "val/accuracy never above 0.001" in finding.message


def test_speaks_when_the_first_steps_threw_it_up_and_it_never_came_below_its_start():
    loss = np.r_[2.31, np.geomspace(4000, 3, 30), flat(2.9, n=500, noise=0.2)]
    (finding,) = stuck_from_start.check(a_run(loss=loss))
    assert finding.severity == Severity.WARNING
    assert "never come below its first value" in finding.message


def test_a_lucky_first_batch_is_not_taken_for_the_level_it_began_at():
    loss = np.r_[1.48, flat(1.61, n=750, noise=0.1), flat(1.61, n=750, noise=0.01)]
    assert stuck_from_start.check(a_run(loss=loss, config={"classes": 5}))


def test_only_notes_a_flat_loss_without_a_sign_of_ignorance():
    (finding,) = stuck_from_start.check(a_run(loss=flat(1.234, noise=0.02)))
    assert finding.severity == Severity.NOTE


@pytest.mark.parametrize("seed", range(5))
def test_stays_silent_when_the_loss_falls_slowly(seed):
    loss = np.linspace(2.3, 2.1, 1000) + flat(0, n=1000, noise=0.1, seed=seed)
    assert stuck_from_start.check(a_run(loss=loss, config={"classes": 10})) == []


def test_stays_silent_when_the_metric_learns_what_the_loss_hides():
    loss = flat(np.log(2), noise=0.002)
    assert stuck_from_start.check(a_run(loss=loss, val_accuracy=np.linspace(0.5, 0.8, 20))) == []


def test_stays_silent_when_it_fell_early_and_is_flat_since():
    assert stuck_from_start.check(a_run(loss=np.r_[flat(2.3, 50), flat(0.5, 500)])) == []


@pytest.mark.parametrize(
    "run",
    [
        a_run(loss=[2.303] * 30),
        a_run(loss=flat(2.303), lr=np.linspace(1e-6, 1e-3, 300)),
        a_run(loss=flat(1.0, noise=0.9)),
        a_run(loss=flat(0.0), kl=0.1, reward=0.5),
    ],
    ids=["short", "warming up", "too noisy", "policy surrogate"],
)
def test_does_not_judge_what_cannot_be_judged(run):
    assert isinstance(stuck_from_start.examine(run), NotExamined)


def test_a_whole_schedule_without_effect_is_a_sign():
    there_and_back = np.r_[np.linspace(0, 3e-4, 30), np.linspace(3e-4, 0, 270)]
    (finding,) = stuck_from_start.check(a_run(loss=flat(8.7, noise=0.1), lr=there_and_back))
    assert finding.severity == Severity.WARNING
    assert "all the way up and down" in finding.message


def test_a_model_that_is_trained_on_may_stay_where_it_was():
    there_and_back = np.r_[np.linspace(0, 3e-4, 30), np.linspace(3e-4, 0, 270)]
    (finding,) = stuck_from_start.check(a_run(loss=flat(1.87, noise=0.05), lr=there_and_back))
    assert finding.severity == Severity.NOTE


def test_stays_silent_when_a_policy_learned_although_its_loss_rose():
    loss = np.r_[np.linspace(-10, 2, 100), np.full(300, 1.3)] + 0.1 * np.sin(np.arange(400))
    rate = [0.0, 0.0, 0.05, 0.4, *[1.0] * 16]
    assert isinstance(stuck_from_start.examine(a_run(loss=loss, success_rate=rate)), NotExamined)
    assert stuck_from_start.examine(a_run(loss=loss))


def test_epochs_are_known_from_their_length():
    loss = flat(6.24, n=1000, noise=0.001)
    assert stuck_from_start.check(a_run(loss=loss))[0].severity == Severity.NOTE
    (finding,) = stuck_from_start.check(a_run(loss=loss, config={"steps_per_epoch": 195}))
    assert finding.severity == Severity.WARNING
    assert "after 5.13 epochs" in finding.message


def test_a_loss_that_the_first_steps_threw_up_and_that_stays_above_twice_its_start():
    thrown = np.concatenate(
        [[2.31, 4.8, 30, 85, 40, 20, 11, 8], 5 + 0.3 * np.random.default_rng(0).standard_normal(192)]
    )
    (finding,) = stuck_from_start.check(a_run(loss=thrown))
    assert "has never come below its first value" in finding.message


@pytest.mark.parametrize(("won", "speaks"), [(0.08, False), (0.0, True)])
def test_a_small_gain_that_noise_hides_is_no_standstill_for_having_seen_the_data_thrice(won, speaks):
    time = np.arange(60)
    for seed in (1, 2, 3):
        loss = flat(1.45, 60, noise=0.06, seed=seed) - won * (1 - np.exp(-time / 15))
        found = stuck_from_start.examine(a_run(loss=loss, epoch=3 * time / 59, steps=600))
        assert isinstance(found, NotExamined) is not speaks


@pytest.mark.parametrize(("last", "silent"), [(-0.012, False), (0.4, True)])
def test_a_score_that_rises_below_that_of_a_blind_guess_is_no_progress(last, silent):
    flat = 6.5e-4 * (1 + 0.05 * np.random.default_rng(0).standard_normal(400))
    run = a_run(loss=flat, val_r2=np.linspace(-0.03, last, 12))
    assert (stuck_from_start.check(run) == []) is silent


def test_a_word_error_rate_that_stays_at_one_is_a_sign_of_ignorance():
    run = a_run(loss=[5.06, 5.08, 5.1, 5.07] * 40, val_wer=[1.0] * 8)
    [found] = stuck_from_start.check(run)
    assert found.severity == Severity.WARNING
    assert "val/wer never below 1" in found.message


def test_a_word_error_rate_that_is_low_is_none():
    run = a_run(loss=[0.506, 0.508, 0.51, 0.507] * 40, val_wer=[0.2] * 8)
    assert all(found.severity == Severity.NOTE for found in stuck_from_start.check(run))


def test_stays_silent_where_batches_differ_by_more_than_is_learned_and_held_out_examples_show_it():
    noise = np.random.default_rng(0).standard_normal(750)
    epochs = [i / 30 for i in range(750)]
    loss = -116_000 + 9_000 * noise
    flat = -1160 + 0.01 * noise[:25]
    learned = np.r_[-1157.0, flat[1:]]
    same = stuck_from_start.examine(a_run(loss=loss, val_loss=flat, epoch=epochs))
    better = stuck_from_start.examine(a_run(loss=loss, val_loss=learned, epoch=epochs))
    assert isinstance(better, NotExamined)
    assert not isinstance(same, NotExamined)
