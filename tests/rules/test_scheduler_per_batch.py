import numpy as np

from bedside.record.run import Event
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


def three_epochs_a_hundred_steps(factor, config=None):
    """Stepped per batch; the end of each epoch is logged, after 30 steps."""
    reported = [Event(29, "epoch", {"epoch": 0.0})]
    return scheduler_per_batch.check(a_run(loss=2.0, lr=0.1 * factor ** np.arange(34), events=reported, config=config))


def test_speaks_when_the_second_epoch_begins_at_a_fraction_of_the_rate():
    [found] = three_epochs_a_hundred_steps(0.9)
    assert "one epoch leaves 0.042 of 0.1" in found.message


def test_stays_silent_when_an_epoch_costs_the_rate_little_or_the_plan_ends_before_it_is_gone():
    assert not three_epochs_a_hundred_steps(0.96)
    assert not three_epochs_a_hundred_steps(0.92, config={"max_steps": 60})


def counted(rate, micro_batches=1.0, **facts):
    made = {"stepped": 400, "optimizer_steps": 400, **facts}
    return a_run(loss=[1.0] * 400, lr=rate, micro_batches=micro_batches, config={"schedulers": [made]})


FLOOR = np.r_[np.linspace(1e-2, 1e-3, 100), np.full(300, 1e-3)]


def test_speaks_when_a_schedule_of_steps_is_called_once_per_micro_batch():
    run = counted(FLOOR, 4.0, name="LambdaLR", total=400, stepped=1600)
    [found] = scheduler_per_batch.check(run)
    assert "once per micro-batch, 4 times per optimizer step" in found.message
    assert "inside the same `if`" in found.try_[0]


def test_stays_silent_when_it_was_built_for_the_micro_batches():
    line = np.linspace(1e-2, 1e-4, 400)
    assert not scheduler_per_batch.check(counted(line, 4.0, name="PolynomialLR", total=1600, stepped=1600))


def test_speaks_of_milestones_in_epochs_that_are_passed_in_steps():
    rate = np.r_[[0.1] * 4, [0.01] * 4, [1e-3] * 4, [1e-4] * 388]
    [found] = scheduler_per_batch.check(counted(rate, name="MultiStepLR", gamma=0.1, milestones=[4, 8, 12]))
    assert "made for 12 calls, it was called 400 times" in found.message


def test_stays_silent_when_a_warm_up_ends_early_and_stays_at_its_peak():
    rate = np.r_[np.linspace(1e-3, 1e-2, 20), np.full(380, 1e-2)]
    assert not scheduler_per_batch.check(counted(rate, name="LinearLR", total=20))


def test_stays_silent_when_averaging_of_weights_takes_over():
    swa = {"name": "SWALR", "stepped": 200, "optimizer_steps": 400}
    cosine = {"name": "CosineAnnealingLR", "total": 20, "stepped": 400, "optimizer_steps": 400}
    run = a_run(loss=[1.0] * 400, lr=FLOOR, config={"schedulers": [cosine, swa]})
    assert not scheduler_per_batch.check(run)
