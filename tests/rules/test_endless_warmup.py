import numpy as np

from bedside.rules.endless_warmup import endless_warmup
from bedside.testing import a_run

RISE = np.linspace(1e-6, 3e-4, 300)


def test_speaks_when_the_rate_rises_for_most_of_the_plan():
    [found] = endless_warmup.check(a_run(loss=2.0, lr=RISE, config={"max_steps": 400}))
    assert "300 of 400" in found.message
    assert found.try_[0].startswith("Warm up over 20 steps")


def test_speaks_when_a_finished_run_never_reached_its_peak():
    assert endless_warmup.check(a_run(loss=2.0, lr=RISE, finished=True))


def test_stays_silent_when_the_run_may_be_in_its_first_minutes():
    assert not endless_warmup.check(a_run(loss=2.0, lr=RISE))
    assert not endless_warmup.check(a_run(loss=2.0, lr=RISE, config={"max_steps": 10_000}))


def test_stays_silent_on_the_usual_warm_up():
    lr = np.r_[np.linspace(1e-6, 1e-3, 30), 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(270) / 270))]
    assert not endless_warmup.check(a_run(loss=2.0, lr=lr, config={"max_steps": 300}, finished=True))


def test_stays_silent_on_a_learning_rate_range_test():
    assert not endless_warmup.check(a_run(loss=2.0, lr=np.geomspace(1e-7, 1, 200), finished=True))


def test_stays_silent_on_a_constant_rate():
    assert not endless_warmup.check(a_run(loss=[2.0] * 200, lr=1e-3, finished=True))


def test_speaks_soon_when_the_scheduler_says_how_long_it_will_take():
    rate = [1e-6 * k for k in range(1, 31)]
    settings = {"max_steps": 400, "schedulers": [{"name": "LambdaLR", "warmup": 4000, "stepped": 30}]}
    [found] = endless_warmup.check(a_run(loss=[2.0] * 30, lr=rate, config=settings))
    assert "made for 4,000" in found.message
    settings["schedulers"][0]["warmup"] = 40
    assert not endless_warmup.check(a_run(loss=[2.0] * 30, lr=rate, config=settings))


def test_speaks_of_a_warm_up_of_any_shape_that_never_ends():
    root = 1e-3 * np.sqrt(np.arange(1, 401) / 2000)
    stairs = 1e-4 * np.repeat(np.arange(1, 11), 40)
    for rate in (root, stairs):
        [found] = endless_warmup.check(a_run(loss=[2.0] * 400, lr=rate, finished=True))
        assert "400" in found.message or "361" in found.message


def test_stays_silent_on_a_range_test_and_on_stairs_that_were_climbed():
    exponential = np.geomspace(1e-7, 1.0, 400)
    assert not endless_warmup.check(a_run(loss=[2.0] * 400, lr=exponential, finished=True))
    climbed = np.r_[1e-4 * np.repeat(np.arange(1, 6), 40), np.full(200, 5e-4)]
    assert not endless_warmup.check(a_run(loss=[2.0] * 400, lr=climbed, finished=True))
