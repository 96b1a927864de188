import numpy as np

from bedside.rules.schedule_ended_early import schedule_ended_early
from bedside.testing import a_run


def cosine(made_for, steps, floor=0.0):
    phase = np.minimum(np.arange(steps) / made_for, 1)
    return 1e-3 * (floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * phase)))


def test_speaks_when_a_cosine_is_over_at_a_third_of_the_run():
    [found] = schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(100, 300)))
    assert 95 <= found.first_step <= 100
    assert found.try_[0] == "Make the schedule 300 steps long instead of 100."


def test_speaks_early_when_the_plan_is_known():
    run = a_run(loss=[1.0] * 150, lr=cosine(100, 150), config={"max_steps": 400})
    [found] = schedule_ended_early.check(run)
    assert "75 %" in found.message or "76 %" in found.message


def test_stays_silent_when_the_schedule_ends_with_the_run():
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(300, 300)))


def test_stays_silent_when_it_ends_a_little_before():
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(250, 300)))


def test_stays_silent_when_it_rests_on_a_floor_that_still_learns():
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(100, 300, floor=0.1)))


def test_stays_silent_on_constant_and_step_wise_rates():
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=1e-3))
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=0.1 * 0.1 ** (np.arange(300) // 100)))


def test_stays_silent_on_warm_restarts():
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(100, 100).tolist() * 3))


def test_speaks_when_a_cosine_without_restarts_comes_back_up_after_its_end():
    lr = 0.1 * 0.5 * (1 + np.cos(np.pi * np.arange(300) / 200))
    run = a_run(loss=[1.0] * 300, lr=lr, config={"schedulers": [{"name": "CosineAnnealingLR", "stepped": 300}]})
    [found] = schedule_ended_early.check(run)
    assert found.first_step == 200
    assert "T_max=300 instead of 200" in found.try_[0]


def test_stays_silent_on_cycles_whose_scheduler_is_not_known():
    lr = 0.1 * 0.5 * (1 + np.cos(np.pi * np.arange(300) / 200))
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=lr))


def test_speaks_sooner_when_the_scheduler_is_known_to_be_over():
    made = {"schedulers": [{"name": "CosineAnnealingLR", "T_max": 250, "stepped": 300}]}
    [found] = schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(250, 300), config=made))
    assert 240 <= found.first_step <= 250


def past_its_end(steps, made_for=200):
    rate = 0.1 * 0.5 * (1 + np.cos(np.pi * np.arange(steps) / made_for))
    return schedule_ended_early.check(
        a_run(loss=[1.0] * steps, lr=rate, config={"schedulers": [{"name": "CosineAnnealingLR", "stepped": steps}]})
    )


def test_speaks_soon_after_a_cosine_without_restarts_turned_up():
    [found] = past_its_end(230)
    assert found.first_step == 200


def test_stays_silent_when_a_cosine_went_a_few_steps_too_far():
    assert not past_its_end(215)
