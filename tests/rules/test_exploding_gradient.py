import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.rules.exploding_gradient import exploding_gradient
from bedside.testing import a_run

STEPS = 300
NOISE = np.random.default_rng(0).standard_normal(STEPS)
CALM = 2.0 * np.exp(0.3 * NOISE)
LOSS = np.geomspace(2.3, 1.0, STEPS) + 0.05 * NOISE


def test_speaks_when_the_gradient_explodes_and_takes_the_loss_along():
    norms, loss = CALM.copy(), LOSS.copy()
    norms[250:] *= np.geomspace(150, 1e9, 50)
    loss[251:] *= np.geomspace(1.5, 1e3, 49)
    [found] = exploding_gradient.check(a_run(loss=loss, lr=0.5, grad_norm=norms))
    assert (found.severity, found.first_step, found.last_step) == (Severity.ERROR, 250, 299)
    assert "clip_grad_norm_(model.parameters(), 2)" in found.try_[0]


def test_speaks_when_it_ends_in_infinity():
    norms, loss = CALM.copy(), LOSS.copy()
    norms[297:] = [5e3, 3e7, np.inf]
    loss[298:] = [900.0, np.nan]
    [found] = exploding_gradient.check(a_run(loss=loss, grad_norm=norms))
    assert found.first_step == 297


def test_warns_when_it_happens_again_and_again_and_the_loss_pays_each_time():
    norms, loss = CALM.copy(), np.full(STEPS, 2.0) + 0.02 * NOISE
    for step in (60, 120, 180, 240):
        norms[step] = 2000.0
        loss[step + 1 : step + 15] += 3.0
    [found] = exploding_gradient.check(a_run(loss=loss, grad_norm=norms))
    assert found.severity == Severity.WARNING
    assert "4 times" in found.message


def test_names_the_module_that_makes_most_of_the_norm():
    norms, loss = CALM.copy(), LOSS.copy()
    norms[250:] *= 1e4
    loss[251:] += 5
    run = a_run(loss=loss, grad_norm={"": norms, "front": 0.1 * norms, "rnn": 0.99 * norms})
    [found] = exploding_gradient.check(run)
    assert found.where == ("rnn",)


def test_stays_silent_when_lone_spikes_do_not_disturb_the_loss():
    norms = CALM.copy()
    norms[[50, 130, 200, 270]] = 900.0
    assert not exploding_gradient.check(a_run(loss=LOSS, grad_norm=norms))


def test_leaves_one_spike_that_the_loss_recovers_from_to_loss_spike():
    norms, loss = CALM.copy(), LOSS.copy()
    norms[150] = 1500.0
    loss[151:170] += 4.0
    assert not exploding_gradient.check(a_run(loss=loss, grad_norm=norms))


def test_stays_silent_when_the_norm_grows_tenfold_late_in_training():
    assert not exploding_gradient.check(a_run(loss=LOSS, grad_norm=CALM * np.geomspace(1, 15, STEPS)))


def test_stays_silent_on_large_norms_that_are_usual_for_the_run():
    assert not exploding_gradient.check(a_run(loss=LOSS, grad_norm=1e5 * CALM))


def test_stays_silent_when_the_gradient_starts_large_and_settles():
    assert not exploding_gradient.check(a_run(loss=LOSS, grad_norm=CALM * np.geomspace(500, 1, STEPS)))


def test_says_so_when_there_is_no_past():
    assert isinstance(exploding_gradient.examine(a_run(loss=[1.0] * 5, grad_norm=[1.0] * 5)), NotExamined)


def loud(first, output, **more):
    steps = np.arange(300)
    loss = np.maximum(first * 0.97**steps, 0.5)
    outputs = {"front": 1.0, "head": np.maximum(output * 0.97**steps, 1.0)}
    return exploding_gradient.check(
        a_run(loss=loss, grad_norm=first * 10 * 0.97**steps, activation_rms=outputs, config={"classes": 10}, **more)
    )


def test_speaks_when_outputs_are_far_too_large_from_the_first_step():
    [found] = loud(800.0, 400.0)
    assert (found.severity, found.first_step) == (Severity.WARNING, 0)
    assert "where a blind guess has 2.3" in found.message


def test_speaks_when_an_absurd_start_took_a_while_to_undo():
    steps = np.arange(300)
    outputs = {"head": np.maximum(300 * 0.8**steps, 1.0)}
    run = a_run(loss=550 * 0.8**steps, grad_norm=5e3 * 0.8**steps, activation_rms=outputs, config={"classes": 10})
    [found] = exploding_gradient.check(run)
    assert found.last_step < 30


def test_stays_silent_when_a_loud_start_is_soon_over():
    assert not loud(8.0, 5.0)


def test_a_loud_start_is_told_after_twenty_steps_above_a_guess():
    outputs = {"front": 1.0, "head": 60.0}
    for steps, told in [(20, True), (19, False)]:
        loss = [*np.linspace(110.0, 10.0, steps), 1.0]
        run = a_run(loss=loss, grad_norm=50.0, activation_rms=outputs, config={"classes": 10})
        assert bool(exploding_gradient.check(run)) == told


def test_a_loud_start_of_a_small_part_of_the_run_is_no_fault():
    outputs = {"front": 1.0, "head": 60.0}
    for rest, told in [(70, True), (110, False)]:
        loss = [*np.linspace(110.0, 10.0, 30), *[1.0] * rest]
        run = a_run(loss=loss, grad_norm=50.0, activation_rms=outputs, config={"classes": 10})
        assert bool(exploding_gradient.check(run)) == told


def test_stays_silent_when_the_loss_is_a_sum_over_samples():
    assert not loud(800.0, 0.5)


def now_and_then(times, share=0.08, n=400):
    rng = np.random.default_rng(0)
    norms = np.exp(0.3 * rng.normal(size=n))
    norms[20:][rng.random(n - 20) < share] *= times
    return a_run(loss=np.linspace(5, 4, n), grad_norm=norms)


def test_speaks_of_monstrous_norms_in_a_twentieth_of_the_readings_however_slow_the_harm():
    (found,) = exploding_gradient.check(now_and_then(1e6))
    assert found.severity == Severity.WARNING
    assert "10,000 times its usual" in found.message


def test_stays_silent_on_spikes_that_are_rarer_or_lower():
    assert not exploding_gradient.check(now_and_then(1e6, share=0.01))
    assert not exploding_gradient.check(now_and_then(200.0))


def test_stays_silent_where_only_the_usual_has_died_away():
    faded = np.r_[np.ones(100), np.full(300, 1e-9)]
    faded[120::10] = 1e-3
    assert not exploding_gradient.check(a_run(loss=np.linspace(2, 1, 400), grad_norm=faded))


def test_warns_of_first_steps_that_throw_everything_up_though_it_all_comes_down_again():
    back = np.r_[8.1, 9e7, 9e3 * np.exp(-np.arange(298) / 15) + 0.16]
    norms = np.r_[590.0, 4.8e9, 190 * np.exp(-np.arange(298) / 30) + 0.4]
    [found] = exploding_gradient.check(a_run(loss=back, grad_norm=norms, lr=0.005))
    assert (found.severity, found.first_step) == (Severity.WARNING, 1)
    assert "from 590 to 4.8e9 at step 1" in found.message
    soon = np.r_[8.1, 9e7, 9e3 * np.exp(-np.arange(298)) + 0.16]
    assert exploding_gradient.check(a_run(loss=soon, grad_norm=norms, lr=0.005)) == []
    assert exploding_gradient.check(a_run(loss=LOSS, grad_norm=norms, lr=0.005)) == []


def test_outputs_make_a_squared_error_by_their_square():
    loud = {"loss": np.linspace(0.3, 0.01, 200), "grad_norm": 0.3, "config": {"target_variance": 0.004}}
    assert not exploding_gradient.check(
        a_run(**loud, activation_rms={"head": 0.1})
    )  # a sigmoid after it answers a half
    assert exploding_gradient.check(a_run(**loud, activation_rms={"head": 0.5}))
