import numpy as np

from bedside.finding import NotExamined
from bedside.record.run import Parameter
from bedside.rules.dominant_module import dominant_module
from bedside.testing import a_run

SIZES = {"scale": 64, "front": 4096, "body.0": 4096, "body.1": 4096, "body.2": 4096, "head": 640}
NOISE = np.exp(0.2 * np.random.default_rng(0).standard_normal(300))


def check(norms, *, threshold=1.0, weights=None, sizes=SIZES, optimizer="SGD"):
    overall = float(np.sqrt(sum(norm**2 for norm in norms.values())))
    run = a_run(
        loss=2.0,
        grad_norm={"": overall * NOISE, **{owner: norm * NOISE for owner, norm in norms.items()}},
        param_norm={owner: (weights or {}).get(owner, 0.1) * size**0.5 for owner, size in sizes.items()},
        clip_threshold=threshold,
        parameters=[Parameter(owner, owner, size) for owner, size in sizes.items()],
        config={"optimizers": [{"name": optimizer}]},
    )
    return dominant_module.check(run)


def test_speaks_when_one_module_carries_the_norm_and_the_rest_starves():
    [found] = check({"scale": 0.1, "front": 0.1, "body.0": 0.2, "body.1": 80.0, "body.2": 0.2, "head": 0.4})
    assert found.where == ("body.1",)
    assert "leaves the rest" in found.message


def test_names_the_bare_parameter_at_the_front_before_the_layer_it_feeds():
    [found] = check({"scale": 12.0, "front": 80.0, "body.0": 0.2, "body.1": 0.3, "body.2": 0.2, "head": 0.4})
    assert found.where == ("scale", "front")
    assert "at the front of the network" in found.message


def test_speaks_when_a_factor_at_the_front_towers_over_all_others():
    norms = {"scale": 1.5, "front": 2.0, "body.0": 1.0, "body.1": 1.0, "body.2": 1.0, "head": 0.8}
    [found] = check(norms, weights={"scale": 1.0})
    assert found.where == ("scale", "front")
    assert "per number" in found.message


def test_stays_silent_when_the_steep_parameter_is_a_position_code_near_zero():
    norms = {"scale": 1.5, "front": 2.0, "body.0": 1.0, "body.1": 1.0, "body.2": 1.0, "head": 0.8}
    assert not check(norms, weights={"scale": 0.02})


def test_stays_silent_when_the_steep_parameter_is_a_scalar_such_as_a_temperature():
    norms = {"scale": 1.5, "front": 2.0, "body.0": 1.0, "body.1": 1.0, "body.2": 1.0, "head": 0.8}
    assert not check(norms, weights={"scale": 2.7}, sizes={**SIZES, "scale": 1})


def test_stays_silent_when_the_head_carries_the_norm_and_clipping_is_mild():
    assert not check({"scale": 0.01, "front": 0.1, "body.0": 0.1, "body.1": 0.1, "body.2": 0.1, "head": 1.5})


def test_stays_silent_when_nothing_is_clipped():
    norms = {"scale": 1.5, "front": 80.0, "body.0": 0.1, "body.1": 0.1, "body.2": 0.1, "head": 0.1}
    assert not check(norms, threshold=1000.0, weights={"scale": 1.0})


def test_stays_silent_when_the_rest_would_have_been_clipped_anyway():
    assert not check({"scale": 0.1, "front": 80.0, "body.0": 8.0, "body.1": 8.0, "body.2": 8.0, "head": 8.0})


def test_is_less_sure_under_adam():
    norms = {"scale": 0.1, "front": 0.1, "body.0": 0.2, "body.1": 80.0, "body.2": 0.2, "head": 0.4}
    [sgd], [adam] = check(norms), check(norms, optimizer="AdamW")
    assert adam.confidence < sgd.confidence


def test_says_so_when_nothing_is_known_about_clipping():
    run = a_run(loss=2.0, grad_norm={"": 1.0, "a": 1.0, "b": 1.0})
    assert isinstance(dominant_module.examine(run), NotExamined)
