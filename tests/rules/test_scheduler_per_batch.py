import numpy as np

from bedside.rules.scheduler_per_batch import scheduler_per_batch
from bedside.testing import a_run

STEPS = np.arange(1000)


def test_speaks_when_a_step_schedule_is_over_in_the_first_batches():
    [found] = scheduler_per_batch.check(a_run(loss=2.0, lr=0.1 * 0.1 ** (STEPS // 10)))
    assert found.first_step == 0
    assert "every 10 steps" in found.message


def test_speaks_when_an_exponential_decay_per_epoch_is_stepped_per_batch():
    [found] = scheduler_per_batch.check(a_run(loss=2.0, lr=0.1 * 0.9**STEPS))
    assert "multiplied by 0.9 every 1 step " in found.message


def test_speaks_when_a_cosine_without_restarts_bounces():
    lr = 1e-3 * 0.5 * (1 + np.cos(np.pi * STEPS / 10))
    run = a_run(loss=2.0, lr=lr, config={"schedulers": [{"name": "CosineAnnealingLR", "stepped": 1000}]})
    [found] = scheduler_per_batch.check(run)
    assert "every 20 steps" in found.message


def test_stays_silent_on_cycles_that_were_meant():
    lr = 1e-3 * 0.5 * (1 + np.cos(np.pi * STEPS / 10))
    assert not scheduler_per_batch.check(a_run(loss=2.0, lr=lr))


def test_stays_silent_on_the_usual_step_schedule():
    assert not scheduler_per_batch.check(a_run(loss=2.0, lr=0.1 * 0.1 ** (STEPS // 300)))


def test_stays_silent_on_a_slow_exponential_decay():
    assert not scheduler_per_batch.check(a_run(loss=2.0, lr=0.1 * 0.995**STEPS))


def test_stays_silent_on_cosine_linear_and_constant_rates():
    for lr in (1e-3 * 0.5 * (1 + np.cos(np.pi * STEPS / 1000)), 1e-3 * (1 - STEPS / 1000), 1e-3):
        assert not scheduler_per_batch.check(a_run(steps=1000, loss=2.0, lr=lr))
