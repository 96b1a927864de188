from bedside.rules.extreme_input import extreme_input
from bedside.testing import a_run


def test_speaks_when_a_timestamp_is_a_feature():
    [found] = extreme_input.check(a_run(loss=1.0, input_max=1.7e9))
    assert "1.7e9" in found.message


def test_stays_silent_on_raw_pixels():
    assert not extreme_input.check(a_run(loss=1.0, input_max=255.0))


def test_stays_silent_when_one_batch_stands_out():
    assert not extreme_input.check(a_run(loss=1.0, input_max=[3.0] * 70 + [1e9] + [3.0] * 29))
