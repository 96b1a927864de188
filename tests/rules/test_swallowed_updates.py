import pytest

from bedside.finding import NotExamined
from bedside.record.run import Parameter
from bedside.rules.swallowed_updates import swallowed_updates
from bedside.testing import a_run


def check(lr, dtype="bfloat16", optimizer="AdamW", **more):
    return swallowed_updates.check(
        a_run(
            loss=[2.0] * 100,
            lr=lr,
            param_norm={"layer": 5.0, "norm": 8.0},
            parameters=[Parameter("layer.weight", "layer", 10_000, dtype=dtype), Parameter("norm.weight", "norm", 64)],
            config={"optimizers": [{"name": optimizer}]},
            **more,
        )
    )


def test_speaks_when_a_step_is_far_below_what_bfloat16_can_hold():
    [found] = check(1e-6)
    assert found.where == ("layer",)
    assert "float32" in found.try_[0]


def test_speaks_for_sgd_by_its_gradient():
    assert check(1e-3, optimizer="SGD", grad_norm_clipped={"layer": 0.1})


@pytest.mark.parametrize(("lr", "dtype"), [(1e-3, "bfloat16"), (1e-6, "float32"), (1e-4, "float16")])
def test_stays_silent_when_the_numbers_can_hold_the_step(lr, dtype):
    assert not check(lr, dtype)


def test_says_so_when_the_run_was_not_watched():
    run = a_run(loss=[2.0] * 50, lr=1e-6, param_norm={"layer": 5.0})
    assert isinstance(swallowed_updates.examine(run), NotExamined)
