from bedside.finding import Severity
from bedside.rules.extreme_input import extreme_input
from bedside.testing import a_run


def test_speaks_when_a_timestamp_is_a_feature():
    [found] = extreme_input.check(a_run(loss=1.0, input_max=1.7e9))
    assert "1.7e9" in found.message


def test_is_a_note_where_the_first_module_normalises():
    [found] = extreme_input.check(a_run(loss=1.0, input_max=2e5, activation_rms={"norm": 1.0, "head": 3.0}))
    assert found.severity == Severity.NOTE
    assert "`norm` normalises them first" in found.message
    [found] = extreme_input.check(a_run(loss=1.0, input_max=2e5, activation_rms={"fc": 2e4, "norm": 1.0}))
    assert found.severity == Severity.WARNING
    assert not found.could_also_be


def test_stays_silent_on_raw_pixels():
    assert not extreme_input.check(a_run(loss=1.0, input_max=255.0))


def test_stays_silent_when_one_batch_stands_out():
    assert not extreme_input.check(a_run(loss=1.0, input_max=[3.0] * 70 + [1e9] + [3.0] * 29))


def test_speaks_of_inputs_that_grow_from_epoch_to_epoch():
    [found] = extreme_input.check(a_run(loss=1.0, input_max=[3.0] * 20 + [15.0, 1e2, 6e2, 4e3, 2e4, 1.4e5]))
    assert "reached 3 at first and 140,000 at last" in found.message
    assert "in place" in found.try_[0]


def test_stays_silent_on_inputs_that_grow_a_little_or_by_leaps():
    assert not extreme_input.check(a_run(loss=1.0, input_max=[3.0] * 20 + [15.0, 1e2, 6e2, 4e3, 2e4, 9e4]))
    assert not extreme_input.check(a_run(loss=1.0, input_max=[3.0] * 20 + [15.0, 1e2, 6e2, 4e3, 2e3, 1.4e5]))
