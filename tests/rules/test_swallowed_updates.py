import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event, Parameter
from bedside.rules.swallowed_updates import swallowed_updates
from bedside.testing import a_run


def check(share, dtype="bfloat16"):
    return swallowed_updates.check(
        a_run(
            loss=[2.0] * 100,
            swallowed_fraction={"layer": share, "norm": 0.9},
            parameters=[Parameter("layer.weight", "layer", 10_000, dtype=dtype), Parameter("norm.weight", "norm", 64)],
        )
    )


def test_speaks_when_bfloat16_leaves_most_weights_where_they_were():
    [found] = check(0.8)
    assert (found.where, found.severity, found.preview) == (("layer",), Severity.WARNING, False)
    assert "float32" in found.try_[0]


@pytest.mark.parametrize(("share", "dtype"), [(0.3, "bfloat16"), (0.0, "float16"), (0.9, "float32")])
def test_stays_silent_when_the_numbers_can_hold_the_step_or_are_not_to_blame(share, dtype):
    assert not check(share, dtype)


def test_speaks_when_float32_weights_are_rounded_after_every_step():
    layer = Parameter("layer.weight", "layer", 10_000, dtype="float32")
    run = {"loss": [2.0] * 100, "swallowed_fraction": {"layer": 0.8}, "parameters": [layer]}
    [found] = swallowed_updates.check(a_run(**run, events=[Event(3, "rounded_weights", {"type": "bfloat16"})]))
    assert "stored in float32, and rounded to bfloat16 after every step" in found.message
    assert not swallowed_updates.check(a_run(**run))


def test_stays_silent_when_only_the_end_of_the_schedule_is_swallowed():
    assert not check([0.1] * 60 + [1.0] * 40)


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(swallowed_updates.examine(a_run(loss=[2.0] * 50, lr=1e-6)), NotExamined)
