from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import Severity
from bedside.rules.loss_at_chance import loss_at_chance
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def settling(level, n=300, start=4.0, noise=0.004):
    return level + (start - level) * np.exp(-np.arange(n) / 10) + noise * RNG.normal(size=n)


def test_speaks_at_a_known_level_and_dates_it():
    (finding,) = loss_at_chance.check(a_run(loss=settling(np.log(37)), config={"model.num_classes": 37}))
    assert finding.severity == Severity.WARNING
    assert "ln 37" in finding.message
    assert finding.first_step < 100


def test_speaks_at_the_variance_of_the_targets():
    (finding,) = loss_at_chance.check(
        a_run(loss=settling(0.25, start=0.5, noise=0.001), config={"target_variance": 0.25})
    )
    assert "variance of the targets" in finding.message


def test_a_recognised_level_is_a_warning_only_if_the_accuracy_agrees():
    loss = settling(np.log(1000), start=7.5)
    (note,) = loss_at_chance.check(a_run(loss=loss))
    (warning,) = loss_at_chance.check(a_run(loss=loss, val_accuracy=[0.001, 0.0011, 0.0009]))
    assert (note.severity, warning.severity) == (Severity.NOTE, Severity.WARNING)


@pytest.mark.parametrize(
    "run",
    [
        a_run(loss=settling(1.2), config={"classes": 10}),
        a_run(loss=np.r_[settling(0.5), settling(np.log(10))], config={"classes": 10}),
        a_run(loss=np.linspace(2.5, 2.28, 300), config={"classes": 10}),
        a_run(loss=settling(np.log(10), start=11)),
    ],
    ids=["elsewhere", "it was better before", "passing through", "a language model at 2.303"],
)
def test_stays_silent(run):
    assert loss_at_chance.check(run) == []


def test_speaks_when_an_accuracy_tells_the_number_of_classes():
    level, noise = np.log(37), 0.003 * RNG.normal(size=300)
    run = a_run(loss=level + noise, val_loss=[level] * 10, val_accuracy=1 / 37 + 0.002 * RNG.normal(size=10))
    (finding,) = loss_at_chance.check(run)
    assert finding.severity == Severity.WARNING
    assert "ln 37" in finding.message


def test_speaks_after_a_start_that_blew_up_if_the_accuracy_says_so():
    blown = np.log(10) * (1 + 20 * np.exp(-np.arange(300) / 20)) + 0.003 * RNG.normal(size=300)
    assert loss_at_chance.check(a_run(loss=blown, val_loss=[2.3] * 10, val_accuracy=[0.1] * 10))
    assert loss_at_chance.check(a_run(loss=blown)) == []


def test_stays_silent_when_the_accuracy_is_better_than_its_loss_would_let_guess():
    run = a_run(
        loss=np.log(10) + 0.003 * RNG.normal(size=300),
        val_loss=[2.3] * 10,
        val_accuracy=[0.4, 0.41, 0.39, 0.402, 0.398] * 2,
    )
    assert [each.severity for each in loss_at_chance.check(run)] in ([], [Severity.NOTE])


def test_speaks_of_a_restless_training_loss_by_its_evaluations():
    restless = 2.5 + 0.3 * np.sin(np.arange(300) / 9)
    known = {"classes": 10}
    assert loss_at_chance.check(a_run(loss=restless, val_loss=[2.4] * 10, val_accuracy=[0.1] * 10, config=known))
    assert loss_at_chance.check(a_run(loss=restless, val_loss=[2.4] * 10, val_accuracy=[0.6] * 10, config=known)) == []


def test_speaks_when_a_regression_is_far_above_the_variance_of_its_targets_all_run():
    known = {"target_variance": 30.0}
    high = 2500 - np.linspace(0, 60, 400)
    [found] = loss_at_chance.check(a_run(loss=high, config=known))
    assert "the variance of the targets = 30" in found.message
    assert "Standardise the targets" in found.try_[0]
    a_sum = np.geomspace(2500, 400, 400)  # a sum over the batch: far above as well, and falling
    assert loss_at_chance.check(a_run(loss=a_sum, config=known)) == []


def test_speaks_when_held_out_errors_never_leave_the_variance_of_the_targets():
    loss, val = np.r_[np.geomspace(50, 0.1, 150), [0.1, 0.101] * 125], [0.076, 0.075, 0.074, 0.075, 0.074, 0.074] * 2
    run = a_run(loss=loss, val_loss=val, config={"target_variance": 0.074})
    [found] = loss_at_chance.check(run)
    assert "val/loss was never clearly below" in found.message
    falling = np.geomspace(0.12, 0.0745, 12)
    under_way = a_run(loss=np.geomspace(50, 0.1, 400), val_loss=falling, config={"target_variance": 0.074})
    assert loss_at_chance.check(under_way) == []
    better = a_run(loss=np.r_[np.geomspace(50, 0.1, 150), [0.1] * 250], val_loss=np.geomspace(0.076, 0.02, 12),
                   config={"target_variance": 0.074})  # fmt: skip
    assert loss_at_chance.check(better) == []


def test_batches_of_a_few_samples_do_not_hide_a_guess():
    noisy = np.log(7) + 0.35 * np.random.default_rng(1).normal(size=500)
    assert loss_at_chance.check(a_run(loss=noisy, config={"classes": 7}))


def test_speaks_when_an_absolute_error_stays_far_above_the_deviation_of_the_targets():
    crawling = list(np.linspace(5000, 4900, 400))
    (finding,) = loss_at_chance.check(a_run(loss=crawling, config={"target_deviation": 640.0}))
    assert "times the mean absolute deviation of the targets" in finding.message
    assert not list(loss_at_chance.check(a_run(loss=crawling, config={"target_deviation": 2600.0})))


@pytest.mark.parametrize("seed", [12, 46])  # of sixty draws, those whose blocks range over more than 4 σ
def test_noise_alone_does_not_hide_that_the_targets_have_nothing_to_do_with_the_inputs(seed):
    loss = np.random.default_rng(seed).chisquare(256, size=2500) / 256  # squared errors of 256 fresh numbers a batch
    assert loss_at_chance.check(a_run(loss=loss, config={"target_variance": 1.0}))


def test_stays_silent_when_the_same_noise_lies_on_a_loss_that_falls_below_the_variance():
    for seed in range(12):
        noise = np.random.default_rng(seed).chisquare(256, size=2500) / 256
        loss = noise * np.linspace(1.0, 0.8, 2500)
        assert loss_at_chance.check(a_run(loss=loss, config={"target_variance": 1.0})) == []


@pytest.mark.parametrize(
    ("vitals", "advice"),
    [
        ({"lr": 1e-5, "relative_update_norm": 1e-4}, "Raise the learning rate from 1e-5 to about 1e-4."),
        ({"relative_update_norm": 1e-6}, "Raise the learning rate 1,000-fold."),
        ({"lr": 3e-6}, "Raise the learning rate from 3e-6 to about 3e-5."),
        ({"lr": 1e-5, "relative_update_norm": 3e-3}, "Lower the learning rate from 1e-5 to about 1e-6."),
        ({"lr": 0.1}, "Lower the learning rate from 0.1 to about 0.01."),
    ],
    ids=["hardly moved", "no rate recorded", "a rate of fine-tuning", "moved far", "nothing recorded"],
)
def test_the_rate_is_lowered_only_where_something_may_have_moved(vitals, advice):
    flat = 2.302 + 0.003 * np.random.default_rng(0).normal(size=300)
    (finding,) = loss_at_chance.check(a_run(loss=flat, config={"classes": 10}, **vitals))
    assert finding.try_[-1] == advice


def test_speaks_when_a_run_has_ended_without_ever_coming_below_the_variance_of_the_targets():
    spread = {"target_variance": 0.5}
    ends = 0.56 + 3 * np.exp(-np.arange(300) / 60)
    [found] = loss_at_chance.check(a_run(loss=ends, config=spread, finished=True))
    assert found.message.startswith("The loss never came below the variance of the targets = 0.500: it ends at 0.5")
    assert not loss_at_chance.check(a_run(loss=ends - 0.1, config=spread, finished=True))
    assert not loss_at_chance.check(
        a_run(loss=ends + 0.15, config=spread, finished=True)
    )  # of another scale, or another loss


@pytest.mark.parametrize(("last", "speaks"), [(0.0982, False), (0.0994, True)])
def test_held_out_errors_that_fall_ever_faster_are_on_their_way(last, speaks):
    """A plateau that is being left; what nears the variance of its targets slows down instead."""
    plateau = [0.0985, 0.0999, 0.0999, 0.0999, 0.0999, 0.0999, 0.0998, 0.0998, 0.0997, 0.0996]
    run = a_run(
        loss=np.r_[0.26, 0.10 + 0.02 * np.sin(np.arange(199))],
        val_loss=[*plateau, np.interp(1, [0, 2], [0.0996, last]), last],
        config={"target_variance": 0.09},
    )
    assert bool(loss_at_chance.check(run)) is speaks


@pytest.mark.parametrize(("loss", "speaks"), [(0.53, True), (0.48, False)])
def test_the_commonest_class_named_whatever_is_asked(loss, speaks):
    flat = loss + 0.002 * np.random.default_rng(0).standard_normal(40)  # the entropy of 0.7812 and the rest is 0.525
    run = a_run(loss=flat, val_loss=flat, val_accuracy=[0.7812] * 40)
    assert bool(loss_at_chance.check(run)) is speaks


def test_an_accuracy_that_moved_at_first_is_not_one_answer():
    flat = 0.53 + 0.002 * np.random.default_rng(0).standard_normal(40)
    assert loss_at_chance.check(a_run(loss=flat, val_loss=flat, val_accuracy=[0.70] * 2 + [0.7812] * 38)) == []


@pytest.mark.parametrize(("held_out", "speaks"), [(0.34, True), (0.26, False)])
def test_the_commonest_class_is_no_success_though_training_memorises(held_out, speaks):
    """The number of classes is known; nine of ten samples are of one, and 0.31 knows no more than that."""
    training = np.linspace(0.5, 0.25, 200) + 0.08 * np.random.default_rng(0).standard_normal(200)
    evaluations = held_out + 0.005 * np.random.default_rng(1).standard_normal(10)
    run = a_run(loss=training, val_loss=evaluations, val_accuracy=[0.9067] * 10, config={"classes": 2})
    assert [found.name for found in loss_at_chance.check(run)] == ["loss-at-chance"] * speaks


@pytest.mark.parametrize(("last", "speaks"), [(0.0178, True), (0.0168, False)])
def test_a_training_loss_that_was_divided_is_judged_by_how_it_moved(last, speaks):
    run = a_run(
        loss=np.geomspace(0.018, last, 200),
        val_loss=np.linspace(2.30, 2.26, 8),
        val_accuracy=np.linspace(0.1, 0.35, 8),
        config={"classes": 10},
        finished=True,
    )
    assert bool(loss_at_chance.check(run)) is speaks


@pytest.mark.parametrize(("area", "severity"), [(0.503, Severity.WARNING), (0.62, Severity.NOTE)])
def test_an_area_under_the_curve_of_a_half_confirms_a_familiar_level(area, severity):
    flat = 0.6932 + 0.0004 * np.random.default_rng(0).standard_normal(200)
    run = a_run(loss=[0.79, 0.7, *flat[2:]], val_loss=flat[:40], val_auc=[0.501] * 39 + [area])
    (finding,) = loss_at_chance.check(run)
    assert finding.severity is severity


def test_speaks_when_one_of_two_balanced_classes_is_always_named_however_restless_the_loss():
    loss = [1.36, 1.34, 1.09, 0.77, 0.73, 1.03, 1.32, 1.39, 1.2]
    [found] = loss_at_chance.check(a_run(loss=loss, val_accuracy=[0.5] * 9))
    assert "the same answer" in found.message


def test_stays_silent_when_half_the_answers_are_right_and_the_loss_is_below_a_guess():
    loss = [1.36, 1.1, 0.9, 0.7, 0.6, 0.5, 0.45, 0.4, 0.38]
    assert not loss_at_chance.check(a_run(loss=loss, val_accuracy=[0.5] * 9))
