"""How the loop is written, as it is observed."""

from __future__ import annotations

import pytest
import torch
from tests.collect.models import CASES
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def net():
    return nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10))


def train_step(model, optimizer):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(16, 20)), torch.randint(10, (16,))).backward()
    optimizer.step()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def troubles(run):
    ordinary = {"coverage", "mode", "cost", "accumulation", "nonlinearities", "answers_in_place"}
    return {event.kind for event in run.events} - ordinary


def test_a_training_forward_in_eval_mode_is_heard_from_the_step_it_began(tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        train_step(model, optimizer)
        if step == 2:
            model.eval()  # for a validation, and never back

    run = watched(model, optimizer, tmp_path, body)
    assert run.series("eval_mode").values.tolist() == [0, 0, 0, 1, 1, 1]
    modes = [(e.step, e.data["training_forwards"]) for e in run.events_of("mode")]
    assert modes == [(0, "train"), (3, "eval")]
    assert run.events_of("mode")[1].data["mode_dependent"] == ["BatchNorm1d", "Dropout"]


def evaluation(model, monitor, *, grad, forwards=3, log=True):
    with torch.set_grad_enabled(grad):
        for _ in range(forwards):
            model(torch.randn(8, 20))
    if log:
        monitor.log(val_loss=1.0)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("in_eval", [False, True])
def test_evaluations_are_told_apart_by_mode_and_gradients(grad, in_eval, tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        train_step(model, optimizer)
        if step % 3 == 2:
            model.train(not in_eval)
            evaluation(model, monitor, grad=grad)
            model.train()

    run = watched(model, optimizer, tmp_path, body, steps=12)
    trained = run.events_of("validation_in_train_mode")
    assert bool(trained) is not in_eval
    assert bool(run.events_of("validation_with_gradients")) is grad
    if trained:
        last = trained[-1].data
        assert (last["count"], last["confirmed"], last["passes"]) == (4, 4, 4)
        assert last["forwards_per_pass"] == 3
        assert last["keeps_statistics"] is True
    assert run.series("eval_mode").values.max() == 0


def test_an_evaluation_in_eval_mode_that_keeps_its_graph_is_heard_without_any_metric(tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        model.eval()
        evaluation(model, monitor, grad=True, log=False)
        model.train()
        train_step(model, optimizer)

    run = watched(model, optimizer, tmp_path, body)
    assert run.events_of("validation_with_gradients")[-1].data["count"] == 6
    assert not run.events_of("validation_in_train_mode")


def test_the_validation_block_makes_it_certain(tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        train_step(model, optimizer)
        with monitor.validation():
            evaluation(model, monitor, grad=True, log=False)

    run = watched(model, optimizer, tmp_path, body, steps=2)
    for kind in ("validation_in_train_mode", "validation_with_gradients"):
        assert run.events_of(kind)[-1].data["confirmed"] == 2


def test_several_forwards_before_one_backward_are_all_training(tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        optimizer.zero_grad()
        one, two = model(torch.randn(8, 20)), model(torch.randn(8, 20))
        (one - two).square().mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body)
    assert not troubles(run)


def test_steps_without_a_gradient_are_counted(tmp_path):
    model = net()
    optimizer = sgd(model)

    def body(step, monitor):
        F.cross_entropy(model(torch.randn(16, 20)), torch.randint(10, (16,))).backward()
        optimizer.zero_grad()  # in the wrong place
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body)
    last = run.events_of("empty_step")[-1]
    assert (last.data["count"], last.data["first_step"]) == (6, 0)


@pytest.mark.parametrize("unscale", [False, True])
def test_clipping_gradients_that_are_still_scaled_is_heard(unscale, tmp_path):
    model = net()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def body(step, monitor):
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(torch.randn(16, 20)), torch.randint(10, (16,)))).backward()
        if unscale:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    recorded = watched(model, optimizer, tmp_path, body).events_of("clipped_scaled")
    assert bool(recorded) is not unscale
    if recorded:
        assert recorded[-1].data["count"] == 5  # the first step is how the scaler is met


def test_an_ordinary_loop_raises_no_event(tmp_path):
    case = CASES["gpt"]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters())

    def body(step, monitor):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(inputs)
        monitor.log(val_loss=1.0)
        model.train()

    run = watched(model, optimizer, tmp_path, body)
    assert not troubles(run)


@pytest.mark.parametrize("freeze", ["trunk", "nothing"])
def test_a_frozen_trunk_does_not_depend_on_the_mode(freeze, tmp_path):
    trunk = nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))
    model = nn.Sequential(trunk, nn.Linear(16, 10))
    trunk.requires_grad_(freeze != "trunk")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.eval()
    run = watched(model, optimizer, tmp_path, lambda step, monitor: train_step(model, optimizer), steps=4)
    [mode] = run.events_of("mode")
    both = ["BatchNorm1d", "Dropout"]
    assert (mode.data["mode_dependent"], mode.data["frozen"]) == (([], both) if freeze == "trunk" else (both, []))


class Slope(nn.Module):
    """Answers with the derivative of a network, as a Hamiltonian network does."""

    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1, bias=False))

    def forward(self, x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(self.energy(x).sum(), x, create_graph=True)[0]


@pytest.mark.parametrize("differentiates", [True, False])
def test_a_model_that_differentiates_itself_needs_a_graph_in_evaluations(differentiates, tmp_path):
    model = Slope() if differentiates else nn.Linear(4, 4)
    optimizer = sgd(model)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        model(torch.randn(8, 4))
        monitor.log(val_loss=1.0)

    run = watched(model, optimizer, tmp_path, body)
    assert bool(run.events_of("validation_with_gradients")) is not differentiates
