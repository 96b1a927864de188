import numpy as np

from bedside.finding import NotExamined
from bedside.rules.vanishing_gradient import vanishing_gradient
from bedside.testing import a_run

FADE = {"layers.0": 3e-9, "layers.1": 2e-7, "layers.2": 1e-5, "layers.3": 8e-4, "layers.4": 2e-2, "head": 0.3}


def noisy(norms, steps=200, seed=0):
    noise = np.random.default_rng(seed)
    return {owner: norm * np.exp(0.3 * noise.standard_normal(steps)) for owner, norm in norms.items()}


def test_speaks_when_the_gradient_fades_layer_by_layer():
    [found] = vanishing_gradient.check(a_run(loss=2.3, grad_norm=noisy(FADE)))
    assert found.where == ("layers.0", "layers.1", "layers.2")
    assert found.first_step == 0
    assert found.evidence["ratio"] < 1e-7


def test_dates_a_fade_that_began_in_the_middle():
    norms = noisy(FADE, steps=300)
    for owner in norms:
        norms[owner][:40] = 0.1
    [found] = vanishing_gradient.check(a_run(loss=2.3, grad_norm=norms))
    assert 38 <= found.first_step <= 42


def test_stays_silent_when_layers_differ_a_hundredfold():
    norms = {"embed": 0.01, "layers.0": 0.05, "layers.1": 0.2, "layers.2": 0.8, "head": 1.0}
    assert not vanishing_gradient.check(a_run(loss=2.3, grad_norm=noisy(norms)))


def test_stays_silent_when_one_small_leaf_at_the_front_is_quiet_and_the_rest_is_fed():
    norms = {"scale": 1e-6, "layers.0": 0.05, "layers.1": 0.2, "layers.2": 0.8, "a": 1, "b": 1, "c": 1, "head": 1.0}
    assert not vanishing_gradient.check(a_run(loss=2.3, grad_norm=noisy(norms)))


def test_stays_silent_when_a_zero_initialised_head_passes_nothing_back_at_first():
    norms = noisy({"a": 0.2, "b": 0.2, "c": 0.3, "head": 0.4})
    for owner in ("a", "b", "c"):
        norms[owner][:5] = 0.0
    assert not vanishing_gradient.check(a_run(loss=2.3, grad_norm=norms))


def test_leaves_a_cut_to_exactly_zero_to_dead_layer():
    assert not vanishing_gradient.check(a_run(loss=2.3, grad_norm=noisy({"a": 0, "b": 0, "c": 0.3, "head": 0.4})))


def test_stays_silent_when_adam_gives_the_front_updates_as_large_as_the_rest():
    updates = dict.fromkeys(FADE, 1e-3)
    assert not vanishing_gradient.check(a_run(loss=1.7, grad_norm=noisy(FADE), relative_update_norm=noisy(updates)))


def test_containers_are_not_compared_with_their_own_leaves():
    norms = {"net": 1.0, "net.0": 0.3, "net.1": 0.3, "net.2": 0.3, "net.3": 0.4}
    assert not vanishing_gradient.check(a_run(loss=2.3, grad_norm=noisy(norms)))


def test_says_so_when_the_run_is_too_short():
    assert isinstance(vanishing_gradient.examine(a_run(steps=10, loss=2.3, grad_norm=FADE)), NotExamined)


def test_moves_that_adam_makes_of_a_faded_gradient_do_not_excuse_a_run_that_learns_nothing():
    faded = {"layers.0": 1e-7, "layers.1": 1e-6, "layers.2": 1e-5, "layers.3": 1e-3, "layers.4": 1e-2, "head": 0.5}
    moves = dict.fromkeys(faded, 2e-3)
    stuck = a_run(loss=[2.3, 2.31] * 60, config={"classes": 10}, grad_norm=faded, relative_update_norm=moves)
    learning = a_run(loss=[2.3 * 0.98**k for k in range(120)], grad_norm=faded, relative_update_norm=moves)
    assert vanishing_gradient.check(stuck)
    assert not vanishing_gradient.check(learning)
    assert not vanishing_gradient.check(a_run(loss=[1.7, 1.71] * 60, grad_norm=faded, relative_update_norm=moves))
