from __future__ import annotations

import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.learning_rate_leap import learning_rate_leap
from bedside.testing import a_run

RNG = np.random.default_rng(0)
DOWN = np.linspace(1e-3, 2e-5, 200)
FALL = 1.0 + 3.0 * np.exp(-np.arange(200) / 50)
RESUMED = [Event(200, "resume")]


def noisy(curve):
    return curve * np.exp(0.02 * RNG.normal(size=len(curve)))


def test_speaks_when_the_schedule_began_anew_at_a_resume():
    run = a_run(loss=noisy(np.r_[FALL, np.full(100, 1.9)]), lr=np.r_[DOWN, np.full(100, 1e-3)], events=RESUMED)
    (finding,) = learning_rate_leap.check(run)
    assert finding.first_step == 200
    assert finding.severity == Severity.WARNING
    assert "50-fold" in finding.message
    assert "state_dict" in finding.try_[0]


def test_speaks_when_a_scheduler_was_made_anew_before_the_first_was_over():
    made = {"name": "CosineAnnealingLR", "total": 300, "stepped": 200, "optimizer_steps": 200, "begins": 0}
    anew = {**made, "stepped": 100, "optimizer_steps": 100, "begins": 200}
    loss, rate = noisy(np.r_[FALL, np.full(100, 1.9)]), np.r_[DOWN, np.full(100, 1e-3)]
    (finding,) = learning_rate_leap.check(a_run(loss=loss, lr=rate, config={"schedulers": [made, anew]}))
    assert finding.severity == Severity.WARNING
    assert "where the scheduler was made anew" in finding.message
    assert not learning_rate_leap.check(a_run(loss=loss, lr=rate, config={"schedulers": [made]}))


def test_is_a_note_when_the_loss_came_back():
    back = np.r_[FALL, 0.8 + 1.5 * np.exp(-np.arange(200) / 30)]
    (finding,) = learning_rate_leap.check(a_run(loss=noisy(back), lr=np.r_[DOWN, DOWN], events=RESUMED))
    assert finding.severity == Severity.NOTE


def test_speaks_without_a_known_resume_if_the_rate_came_down_in_vain():
    worse = np.r_[FALL, 2.2 + 0.5 * np.exp(-np.arange(200) / 30)]
    assert learning_rate_leap.check(a_run(loss=noisy(worse), lr=np.r_[DOWN, DOWN]))


def test_stays_silent_in_warm_restarts():
    cycles = np.tile(DOWN, 4)
    loss = np.concatenate([0.9**k * (1 + 0.6 * np.exp(-np.arange(200) / 30)) for k in range(4)])
    assert learning_rate_leap.check(a_run(loss=noisy(loss), lr=cycles)) == []
    one = np.r_[FALL, np.full(60, 1.8)]
    assert learning_rate_leap.check(a_run(loss=noisy(one), lr=np.r_[DOWN, np.full(60, 1e-3)])) == []


def test_stays_silent_in_a_warm_up_and_when_the_loss_does_not_mind():
    warm = np.r_[np.geomspace(1e-7, 1e-3, 10), DOWN]
    assert learning_rate_leap.check(a_run(loss=noisy(np.r_[[4.0] * 10, FALL]), lr=warm)) == []
    calm = a_run(loss=noisy(np.r_[FALL, np.full(100, 1.0)]), lr=np.r_[DOWN, np.full(100, 1e-3)], events=RESUMED)
    assert learning_rate_leap.check(calm) == []


def test_is_not_examined_on_a_few_rates():
    assert isinstance(learning_rate_leap.examine(a_run(loss=FALL, lr=[1e-3] * 5)), NotExamined)


def test_speaks_of_a_schedule_that_takes_its_course_again_whatever_the_loss_does():
    cosine = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(400) / 400))
    calm = noisy(np.r_[FALL, np.full(150, 1.0)])
    run = a_run(loss=calm, lr=np.r_[cosine[:200], cosine[:150]], events=RESUMED)
    (finding,) = learning_rate_leap.check(run)
    assert finding.severity == Severity.WARNING
    assert finding.first_step == 200
    continued = a_run(loss=calm, lr=cosine[:350], events=RESUMED)
    assert learning_rate_leap.check(continued) == []


def test_a_new_schedule_after_one_that_was_over_is_a_note():
    loss = noisy(np.r_[FALL, np.full(200, 1.0)])
    (finding,) = learning_rate_leap.check(a_run(loss=loss, lr=np.r_[DOWN, DOWN], events=RESUMED))
    assert finding.severity == Severity.NOTE


def test_stays_silent_at_a_resume_of_a_constant_rate():
    loss = noisy(np.r_[FALL, np.full(200, 1.0)])
    assert learning_rate_leap.check(a_run(loss=loss, lr=1e-3, events=RESUMED)) == []


def test_speaks_when_a_steady_rate_leaps_and_the_loss_never_comes_back():
    run = a_run(loss=noisy(np.r_[FALL, np.full(150, 4.9)]), lr=np.r_[np.full(200, 1e-3), np.full(150, 0.2)])
    (finding,) = learning_rate_leap.check(run)
    assert finding.first_step == 200
    assert "200-fold" in finding.message
    assert not any("state_dict" in advice for advice in finding.try_), "nothing was resumed"


def test_stays_silent_when_the_rate_of_the_second_phase_pays():
    better = np.r_[FALL, 0.5 + 0.6 * np.exp(-np.arange(150) / 30)]
    assert not learning_rate_leap.check(a_run(loss=noisy(better), lr=np.r_[np.full(200, 1e-3), np.full(150, 1e-2)]))
