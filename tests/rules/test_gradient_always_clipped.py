import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.gradient_always_clipped import gradient_always_clipped
from bedside.testing import a_run

NOISE = np.exp(0.3 * np.random.default_rng(0).standard_normal(400))


def test_warns_when_every_step_is_cut():
    [found] = gradient_always_clipped.check(a_run(loss=2.0, grad_norm=20 * NOISE, clip_threshold=1.0))
    assert found.severity == Severity.WARNING
    assert found.message.startswith("100 % of the steps are clipped")
    assert found.try_[0].startswith("Raise the threshold from 1 to about")


def test_is_a_note_when_the_norm_is_only_a_little_above_the_threshold():
    [found] = gradient_always_clipped.check(a_run(loss=2.0, grad_norm=1.4 * NOISE, clip_threshold=1.0))
    assert found.severity == Severity.NOTE


def test_is_a_note_under_adam_which_hardly_feels_it():
    run = a_run(loss=2.0, grad_norm=20 * NOISE, clip_threshold=1.0, config={"optimizer": "AdamW"})
    [found] = gradient_always_clipped.check(run)
    assert found.severity == Severity.NOTE
    assert "Adam" in found.message


def test_is_a_note_when_the_loss_is_all_but_gone_nevertheless():
    for left, severity in ((0.05, Severity.NOTE), (0.3, Severity.WARNING)):
        run = a_run(loss=np.geomspace(2.0, 2.0 * left, 400), grad_norm=20 * NOISE, clip_threshold=1.0)
        [found] = gradient_always_clipped.check(run)
        assert found.severity == severity


def test_says_that_a_threshold_of_zero_leaves_nothing_of_the_gradient():
    run = a_run(loss=2.0, grad_norm=NOISE, clip_threshold=0.0, grad_norm_clipped=0.0, config={"optimizer": "Adam"})
    [found] = gradient_always_clipped.check(run)
    assert found.severity == Severity.WARNING
    assert found.message.startswith("The clipping threshold is 0: of a gradient norm of")


def test_takes_a_zero_for_no_threshold_where_the_gradient_goes_through():
    run = a_run(loss=2.0, grad_norm=NOISE, clip_threshold=0.0, grad_norm_clipped=NOISE)
    assert isinstance(gradient_always_clipped.examine(run), NotExamined)


def test_stays_silent_when_clipping_is_rare():
    assert not gradient_always_clipped.check(a_run(loss=2.0, grad_norm=0.5 * NOISE, clip_threshold=1.0))


def test_stays_silent_when_the_gradient_settles_below_the_threshold():
    norms = np.geomspace(15, 0.3, 400) * NOISE
    assert not gradient_always_clipped.check(a_run(loss=2.0, grad_norm=norms, clip_threshold=1.0))


def test_finds_the_threshold_from_the_ratio():
    assert gradient_always_clipped.check(a_run(loss=2.0, grad_norm=20 * NOISE, grad_clip_ratio=20 * NOISE))


def test_says_so_when_no_threshold_is_known_or_the_run_is_short():
    assert isinstance(gradient_always_clipped.examine(a_run(loss=2.0, grad_norm=20 * NOISE)), NotExamined)
    short = a_run(steps=20, loss=2.0, grad_norm=[9.0] * 20, clip_threshold=1.0)
    assert isinstance(gradient_always_clipped.examine(short), NotExamined)


def test_speaks_when_only_the_frequency_of_clipping_is_known():
    [found] = gradient_always_clipped.check(a_run(loss=2.0, clip_active=np.full(200, 0.98)))
    assert found.severity == Severity.WARNING
    assert found.message.startswith("98 % of the steps are clipped")


def test_is_a_note_when_that_is_under_adam_or_not_quite_always():
    [found] = gradient_always_clipped.check(a_run(loss=2.0, clip_active=1.0, config={"optimizer": "AdamW"}))
    assert found.severity == Severity.NOTE
    [found] = gradient_always_clipped.check(a_run(loss=2.0, clip_active=np.full(200, 0.85)))
    assert found.severity == Severity.NOTE


def test_stays_silent_when_clipping_acted_only_at_first():
    assert not gradient_always_clipped.check(a_run(loss=2.0, clip_active=np.r_[np.ones(60), np.zeros(140)]))


BY_VALUE = [Event(20, "clipping", {"by": "value", "by_hand": False, "threshold": 1e-4})]


def test_warns_when_little_is_left_after_clipping_by_value():
    run = a_run(
        loss=2.0,
        grad_norm=0.42 * NOISE,
        grad_norm_clipped=0.08 * NOISE,
        clip_threshold=1e-4,
        grad_clip_ratio=90 * NOISE,
        events=BY_VALUE,
    )
    [found] = gradient_always_clipped.check(run)
    assert found.severity == Severity.WARNING
    assert "clipped by value at 1e-4: of a gradient norm of 0.4" in found.message
    assert "0.01" in found.try_[0]
    assert found.first_step == 0


def test_stays_silent_when_clipping_by_value_takes_little_away():
    norms = {"grad_norm": 4.2 * NOISE, "grad_norm_clipped": 4.0 * NOISE}
    run = a_run(loss=2.0, clip_threshold=0.5, grad_clip_ratio=3.0, clip_active=1.0, events=BY_VALUE, **norms)
    assert not gradient_always_clipped.check(run)


@pytest.mark.parametrize(("left", "speaks"), [(0.05, True), (0.2, False)])
def test_a_short_run_that_is_seldom_looked_at_is_judged_when_next_to_nothing_is_left(left, speaks):
    seldom = np.full(400, np.nan)
    seldom[:20], seldom[[100, 200, 300]] = 1.0, 1.0
    run = a_run(
        steps=400, loss=2.0, grad_norm=seldom, grad_norm_clipped=left * seldom, clip_threshold=1e-5, events=BY_VALUE
    )
    assert bool(gradient_always_clipped.check(run)) is speaks
