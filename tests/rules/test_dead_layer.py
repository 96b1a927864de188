import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event, Parameter
from bedside.rules.dead_layer import dead_layer
from bedside.testing import a_run

NOISE = np.exp(0.3 * np.random.default_rng(0).standard_normal(200))


def check(norms, **more):
    return dead_layer.check(a_run(loss=2.3, grad_norm={o: n * NOISE for o, n in norms.items()}, **more))


def test_names_the_place_past_which_no_gradient_gets():
    [found] = check({"0": 0, "2": 0, "4": 0.1, "6": 0.3})
    assert (found.severity, found.where) == (Severity.ERROR, ("2", "0"))
    assert "past `2`" in found.message
    assert "bias of `2`" in found.try_[0]


def test_dates_a_death_in_mid_run_and_then_recommends_the_learning_rate():
    norms = dict.fromkeys(("0", "2", "4", "6"), 0.2 * NOISE)
    for owner in ("0", "2"):
        norms[owner] = np.where(np.arange(200) < 60, norms[owner], 0.0)
    [found] = dead_layer.check(a_run(loss=2.3, lr=0.5, grad_norm=norms))
    assert found.first_step == 60
    assert found.try_[0] == "Lower the learning rate from 0.5 to about 0.05."


def test_is_a_warning_when_only_a_branch_is_dead():
    [found] = check({"stem": 0.2, "branch.0": 0, "branch.1": 0, "head": 0.3})
    assert (found.severity, found.where) == (Severity.WARNING, ("branch",))


def test_speaks_when_every_gradient_is_zero_and_the_loss_is_not():
    norms = {owner: np.r_[0.1, np.zeros(99)] for owner in ("a", "b", "c")}
    [found] = dead_layer.check(a_run(loss=[10.3] * 100, grad_norm=norms))
    assert found.first_step == 1
    assert "All 3 modules" in found.message


def test_stays_silent_when_a_margin_loss_is_met_by_every_example():
    norms = {owner: np.r_[0.1 * np.ones(50), np.zeros(150)] for owner in ("a", "b")}
    assert not dead_layer.check(a_run(loss=np.r_[np.linspace(1, 0.1, 50), np.zeros(150)], grad_norm=norms))


def test_stays_silent_when_gradients_are_small_but_there():
    assert not check({"0": 1e-9, "2": 1e-7, "4": 0.1, "6": 0.3})


def test_stays_silent_when_a_zero_initialised_head_holds_the_gradient_back_at_first():
    norms = {"a": np.r_[np.zeros(3), NOISE[3:]], "head": NOISE}
    assert not dead_layer.check(a_run(loss=2.3, grad_norm=norms))


def test_a_bias_is_not_dead_while_its_weight_gets_a_gradient():
    """Two halves of a hinge loss push it up and down alike."""
    alive = {"critic.0": 0.2, "critic.2.bias": 0, "critic.2.parametrizations.weight": 0.3}
    assert not check(alive)
    assert check({**alive, "critic.2.parametrizations.weight": 0})


def test_gelu_is_no_cure_where_there_is_no_relu():
    for kind, said in (("relu", True), ("tanh", False)):
        [found] = check({"0": 0, "2": 0, "4": 0.1, "6": 0.3}, events=[Event(0, "nonlinearities", {"1": kind})])
        assert ("GELU" in found.try_[0]) is said


def test_leaves_parameters_without_any_gradient_to_silent_parameter():
    silent = Parameter("front.weight", "front", 10, gradient_steps=0, watched_steps=200)
    assert not check({"front": 0, "body": 0.2, "head": 0.3}, parameters=[silent])


def test_says_so_when_the_run_is_too_short():
    assert isinstance(dead_layer.examine(a_run(steps=5, loss=2.0, grad_norm={"a": 0.0, "b": 1.0})), NotExamined)


def test_says_loss_scaling_where_gradients_underflow_in_float16():
    norms = {"a": 0.0, "b": 0.0, "c": 1.0}
    [found] = check(norms, config={"autocast": "float16"})
    assert "in float16 without a loss scale" in found.message
    assert "GradScaler" in found.try_[0]
    [scaled] = check(norms, config={"autocast": "float16"}, loss_scale=65536.0)
    assert "float16" not in scaled.message
    [full] = check(norms)
    assert not any("GradScaler" in each for each in full.try_)


def test_only_a_layer_that_was_born_dead_is_told_to_start_in_another_way():
    died = np.where(np.arange(200) < 60, 0.2 * NOISE, 0.0)
    for front, start in ((0, True), (died / NOISE, False)):
        [found] = check({"0": front, "2": front, "4": 0.1, "6": 0.3}, lr=0.5)
        assert any("He initialisation" in each for each in found.try_) is start


def test_two_parameters_of_zeros_are_told_to_begin_at_random():
    names = ("down", "up")
    run = a_run(loss=2.3, steps=60, grad_norm=dict.fromkeys(names, 0.0), param_norm=dict.fromkeys(names, 0.0))
    [finding] = dead_layer.check(run)
    assert "`down`" in finding.try_[0]
    assert "at random" in finding.try_[0]
    one = a_run(loss=2.3, steps=60, grad_norm=dict.fromkeys(names, 0.0), param_norm={"down": 0.0, "up": 1.0})
    [finding] = dead_layer.check(one)
    assert "at random" not in finding.try_[0]
