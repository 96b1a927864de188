from bedside.finding import Severity
from bedside.rules.unnormalised_input import unnormalised_input
from bedside.testing import a_run

FALLING = [2.3 * 0.97**i for i in range(100)]


def test_is_a_note_when_raw_pixels_are_learnt_from():
    [found] = unnormalised_input.check(a_run(loss=FALLING, input_mean=33.0, input_std=78.0))
    assert found.severity == Severity.NOTE
    assert found.try_ == ("Normalise the input: (x - 33) / 78, per channel or feature.",)


def test_warns_when_the_loss_does_not_come_down_either():
    [found] = unnormalised_input.check(a_run(loss=[2.3, 2.31] * 50, input_mean=33.0, input_std=78.0))
    assert found.severity == Severity.WARNING


def test_warns_when_the_loss_only_came_down_to_chance():
    loss = [140.0 * 0.8**i + 1.61 for i in range(100)]
    [found] = unnormalised_input.check(a_run(loss=loss, input_mean=1e3, input_std=400.0, config={"classes": 5}))
    assert found.severity == Severity.WARNING


def test_warns_when_it_took_long_to_come_down_to_chance():
    for rate, severity in [(0.95, Severity.WARNING), (0.5, Severity.NOTE)]:
        loss = [48.0 * rate**i for i in range(300)]
        [found] = unnormalised_input.check(a_run(loss=loss, input_mean=70.0, input_std=210.0, config={"classes": 3}))
        assert found.severity == severity


def test_warns_when_most_of_the_losses_are_not_finite():
    loss = [9.0] * 5 + [float("nan")] * 95
    [found] = unnormalised_input.check(a_run(loss=loss, input_mean=3e3, input_std=5e3))
    assert found.severity == Severity.WARNING


def test_stays_silent_on_pixels_between_zero_and_one():
    assert not unnormalised_input.check(a_run(loss=FALLING, input_mean=0.13, input_std=0.31))


def test_stays_silent_when_the_input_is_all_zeros():
    assert not unnormalised_input.check(a_run(loss=FALLING, input_mean=0.0, input_std=0.0))


def test_warns_when_outputs_began_as_large_as_the_inputs():
    for start, severity in [(5e9, Severity.WARNING), (5e4, Severity.NOTE)]:
        loss = [start, start / 10] + [2.0 * 0.99**i for i in range(200)]
        [found] = unnormalised_input.check(a_run(loss=loss, input_mean=78.0, input_std=96.0))
        assert found.severity == severity


def test_warns_when_no_held_out_score_ever_got_better():
    for scores, severity in [
        ([0.74, 0.81, 0.75, 0.73, 0.73, 0.74], Severity.WARNING),
        ([0.5, 0.6, 0.7, 0.8, 0.8, 0.8], Severity.NOTE),
    ]:
        [found] = unnormalised_input.check(a_run(loss=FALLING, input_mean=40.0, input_std=230.0, val_auc=scores))
        assert found.severity == severity
        assert ("val/auc is no better" in found.message) == (severity == Severity.WARNING)


def test_a_loud_start_is_told_after_twenty_steps_above_a_guess():
    for steps, severity in [(20, Severity.WARNING), (19, Severity.NOTE)]:
        loss = [30.0 - k for k in range(steps)] + [1.0]
        [found] = unnormalised_input.check(a_run(loss=loss, input_mean=70.0, input_std=210.0, config={"classes": 3}))
        assert found.severity == severity
    assert unnormalised_input.check(a_run(loss=[], input_mean=70.0, input_std=210.0))[0].severity == Severity.NOTE
