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


SIMPLE = {"linear": 0.1, "neighbours": 0.2, "guess": 0.9, "examples": 400, "kept": 400, "asked": 64, "classes": 10}
TABLE = {"columns": 16, "away": 23.0, "mean": 0.97, "spread": 0.042, "widest": 0.06}


def of_columns(accuracy=0.5, **more):
    values = {"loss": FALLING, "input_mean": 1.0, "input_std": 0.1, "val_accuracy": [accuracy] * 8}
    return unnormalised_input.check(a_run(**values, config={"simple_models": SIMPLE, "input_columns": TABLE | more}))


def test_columns_that_all_say_about_one_are_a_warning_where_a_line_does_better():
    [found] = of_columns()
    assert found.severity == Severity.WARNING
    assert found.message == (
        "Most of the 16 input columns are far from zero in their own spread: 0.97 ± 0.042, as one in the middle is; a "
        "linear model, fitted to a few hundred examples, is 10 % wrong on others, and the network 50 % wrong, with "
        "every column at mean 0 and spread 1."
    )
    [found] = of_columns(accuracy=0.9)
    assert found.severity == Severity.NOTE
    assert not of_columns(away=9.0)


def test_one_column_may_drown_the_others():
    [found] = of_columns(away=0.5, widest=4.3)
    assert found.message.startswith("Most input columns have a spread of 0.042, and one of 4.3;")
    assert not of_columns(away=0.5, widest=4.1)


def of_codes(own=0.6, held_out=0.6, **more):
    held = SIMPLE | {"linear": 0.5, "carried_linear": 0.5, "carried_neighbours": 0.5}
    simple = SIMPLE | {"linear": 0.55, "neighbours": 0.6, "codes": 0.1, "numbers": 0.6, "coded_columns": [40, 7]} | more
    config = {"simple_models": simple, "held_out_models": held}
    values = {"fit_error": [own] * 60, "held_out_error": [held_out] * 8, "config": config}
    return unnormalised_input.check(a_run(loss=FALLING, input_mean=0.0, input_std=1.0, **values))


def test_codes_that_go_in_as_numbers_are_a_warning_where_weights_for_each_do_better():
    [found] = of_codes()
    assert found.severity == Severity.WARNING
    assert found.message.startswith("2 input columns with 40, 7 different whole numbers seem to be codes, given as")
    assert not of_codes(own=0.15)  # it finds them all the same
    assert not of_codes(held_out=0.15)
    assert not of_codes(numbers=0.15)  # numbers that mean what they say
    assert not of_codes(coded_columns=[])
