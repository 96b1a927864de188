from bedside.rules.underflowing_second_moment import underflowing_second_moment
from bedside.testing import a_run


def check(**shares):
    return underflowing_second_moment.check(a_run(loss=2.0, steps=60, underflowed_fraction=shares))


def test_speaks_when_most_moments_are_zero():
    [found] = check(body=0.6, head=0.0)
    assert (found.where, found.first_step) == (("body",), 0)


def test_is_dated_when_it_began():
    [found] = check(body=[0.0] * 30 + [0.4] * 30)
    assert found.first_step == 30


def test_stays_silent_in_full_precision():
    assert not check(body=0.0, head=0.0)


def test_stays_silent_when_only_the_first_steps_had_none():
    assert not check(body=[1.0] * 5 + [0.0] * 55)


def broken(share, at):
    nonfinite = [0.0] * at + [4.0] * (60 - at)
    shares = {"body": [share] * (at + 1) + [0.0] * (59 - at)}
    return underflowing_second_moment.check(a_run(loss=2.0, underflowed_fraction=shares, nonfinite_params=nonfinite))


def test_speaks_of_the_moments_before_the_weights_were_lost():
    [found] = broken(1.0, at=0)
    assert found.message.startswith("100 % of the elements of `body`")


def test_stays_silent_where_weights_were_lost_for_another_reason():
    assert not broken(0.0, at=0)
    assert not broken(0.0, at=30)
