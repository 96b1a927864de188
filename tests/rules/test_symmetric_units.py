from bedside.record.run import Event
from bedside.rules.symmetric_units import symmetric_units
from bedside.testing import a_run


def check(units, samples=0.6, events=()):
    return symmetric_units.check(
        a_run(loss=2.0, unit_variation={"hidden": units}, batch_variation={"hidden": samples}, events=list(events))
    )


def test_speaks_when_all_units_do_the_same():
    [found] = check(1e-6)
    assert found.where == ("hidden",)


def test_stays_silent_when_units_part_after_the_first_steps():
    assert not check([1e-6] * 10 + [0.1] * 90)


def test_stays_silent_when_the_output_is_a_constant():
    assert not check(0.0, samples=0.0)


def test_stays_silent_on_attention_that_looks_everywhere_alike():
    assert not check(1e-6, events=[Event(0, "nonlinearities", {"hidden": "softmax"})])


def test_stays_silent_on_ordinary_layers():
    assert not check(0.9)
