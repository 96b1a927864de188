import numpy as np
import pytest

from bedside.finding import Severity
from bedside.rules.schedule_ended_early import schedule_ended_early
from bedside.testing import a_run
from bedside.wording import number


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


def test_raises_no_alarm_when_it_rests_on_a_floor_that_still_learns():
    found = schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=cosine(100, 300, floor=0.1)))
    assert [each.severity for each in found] == [Severity.NOTE]


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


def counted(rate, name="LambdaLR", total=100):
    made = {"name": name, "total": total, "stepped": 400, "optimizer_steps": 400}
    return a_run(loss=[1.0] * 400, lr=rate, config={"schedulers": [made]})


def test_speaks_of_a_rate_that_came_to_rest_early_at_any_floor():
    floor = np.r_[np.linspace(1e-2, 1e-3, 100), np.full(300, 1e-3)]
    [found] = schedule_ended_early.check(counted(floor))
    assert found.severity == Severity.WARNING
    assert "made for 100 calls and called 400 times" in found.message
    assert found.try_[0] == "Build LambdaLR for 400 calls."


def test_is_a_note_where_only_the_curve_tells_of_the_floor():
    floor = np.r_[np.linspace(1e-2, 1e-3, 100), np.full(300, 1e-3)]
    [found] = schedule_ended_early.check(a_run(loss=[1.0] * 400, lr=floor))
    assert found.severity == Severity.NOTE
    tail = np.r_[np.linspace(1e-2, 1e-3, 300), np.full(100, 1e-3)]
    assert not schedule_ended_early.check(a_run(loss=[1.0] * 400, lr=tail))


def test_stays_silent_when_a_cosine_per_epoch_ends_at_its_floor():
    epochs = 0.05 + 0.95 * 0.5 * (1 + np.cos(np.pi * np.arange(20) / 19))
    made = {"name": "CosineAnnealingLR", "total": 19, "stepped": 20, "optimizer_steps": 600}
    run = a_run(loss=[1.0] * 600, lr=0.1 * np.repeat(epochs, 30), config={"schedulers": [made]})
    assert not schedule_ended_early.check(run)


@pytest.mark.parametrize(
    ("floor", "fall", "severity"),
    [(0.04, 0.9, Severity.WARNING), (0.06, 0.9, Severity.NOTE), (0.04, 1.0, Severity.NOTE)],
)
def test_a_low_floor_for_most_of_the_run_is_a_warning_while_the_loss_still_falls(floor, fall, severity):
    loss = np.geomspace(2.0, 2.0 * fall, 400) + 0.001 * np.random.default_rng(0).standard_normal(400)
    rate = np.r_[np.linspace(1.0, floor, 100), np.full(300, floor)] * 1e-2
    [found] = schedule_ended_early.check(a_run(loss=loss, lr=rate))
    assert found.severity == severity


def test_says_what_the_rate_was_at_the_step_that_it_names():
    rate = 1e-2 * 0.9 ** np.arange(400)
    [found] = schedule_ended_early.check(a_run(loss=[1.0] * 400, lr=rate))
    at_rest = float(rate[found.first_step])
    assert f"came to rest at {number(at_rest)} at step {found.first_step}" in found.message
