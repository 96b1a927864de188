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


def _front(times, *, clipped=0.4, optimizer="SGD", typical=1.0, bare=True, size=64, width=1, **more):
    """A front factor whose gradient per number is `times` that of the layers behind it, in a run that clips now and
    then."""
    behind = {
        "front": 64 * 64,
        "body.0": 8192,
        "body.1": 8192,
        "body.2": 8192,
        "body.3": 8192,
        "norm": 128,
        "head": 650,
    }
    behind = {name: width * n for name, n in behind.items()}
    norms = {name: 0.01 * np.sqrt(n) for name, n in behind.items()}
    gain = times * 0.01 * np.sqrt(size)
    total = float(np.sqrt(gain**2 + sum(n**2 for n in norms.values())))
    owner = "gain" if bare else "gain.layer"
    clips = np.where(np.arange(400) % 10 < 10 * clipped, 0.5 * total, 2 * total)
    name = "gain" if bare else "gain.layer.weight"
    parameters = [Parameter(name, owner, size), *(Parameter(f"{n}.weight", n, s) for n, s in behind.items())]
    return a_run(
        loss=np.linspace(2.3, 1.5, 400),
        grad_norm={"": total, owner: gain, **norms},
        param_norm={"": 30.0, owner: typical * np.sqrt(size), **{n: 0.05 * np.sqrt(s) for n, s in behind.items()}},
        clip_threshold=clips,
        parameters=parameters,
        **more,
        config={"optimizers": [{"name": optimizer}]},
    )


def test_names_a_factor_that_towers_however_seldom_the_run_clips():
    [found] = dominant_module.check(_front(100))
    assert found.where == ("gain",)
    assert "100 times the usual gradient per number" in found.message


def test_names_a_bare_parameter_of_any_size_of_its_numbers():
    assert dominant_module.check(_front(100, typical=0.01))
    assert not dominant_module.check(_front(100, typical=0.01, bare=False))


def test_stays_silent_where_the_factor_is_like_the_front_of_healthy_nets():
    assert not dominant_module.check(_front(10))


def test_stays_silent_with_an_optimizer_that_divides_by_the_gradient():
    assert not dominant_module.check(_front(100, optimizer="AdamW"))


def test_stays_silent_where_it_has_little_of_the_norm():
    assert not dominant_module.check(_front(31, size=8, width=4))


def test_says_what_the_inputs_look_like_instead_of_asking():
    [odd] = dominant_module.check(_front(100, input_mean=-3.2, input_std=2.6))
    assert odd.could_also_be == (
        "Inputs that are not normalised: their mean is -3.2 and their standard deviation 2.6.",
    )
    [usual] = dominant_module.check(_front(100, input_mean=0.1, input_std=1.0))
    assert usual.could_also_be == ()
    [unseen] = dominant_module.check(_front(100))
    assert "print their mean" in unseen.could_also_be[0]


def test_the_rate_of_its_own_is_a_smaller_one():
    [found] = dominant_module.check(_front(100))
    assert "learning rate 10 times smaller" in found.try_[1]
