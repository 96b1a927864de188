"""Norms at every step are read at fast-path steps, with the numbers that an obvious computation gives."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.watched import recorded
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.norm_reader import Reader, leaves_gradients_alone
from bedside.monitor import flush_cycle
from bedside.record.sqlite.reader import open_run

STEPS = 130  # the first hundred are observed in full
NORMS = ["grad_norm", "grad_norm_clipped", "param_norm", "update_norm", "nonfinite_params"]


def norm(tensors) -> float:
    return float(sum((t.detach().double() ** 2).sum() for t in tensors)) ** 0.5


class Loop:
    """Trains, and works out by itself what the record should say."""

    def __init__(self, folder, *, kind="mlp", clip=None, model=None, optimizer=torch.optim.AdamW):
        torch.manual_seed(3)
        self.case, self.clip, self.folder = CASES[kind], clip, folder
        self.model = model if model is not None else self.case.model()
        self.optimizer = optimizer(self.model.parameters(), lr=1e-2)
        self.monitor = bedside.watch(self.model, self.optimizer, run_dir=folder, quiet=True, budget=None, vitals=NORMS)
        self.expected = {vital: [] for vital in NORMS[:4]}
        self.fast_path = []

    def step(self):
        inputs, targets = self.case.batch()
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(inputs), targets).backward()
        mine = [p for p in self.model.parameters() if p.requires_grad]
        self.expected["grad_norm"].append(norm([p.grad for p in mine if p.grad is not None]))
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.expected["grad_norm_clipped"].append(norm([p.grad for p in mine if p.grad is not None]))
        before = [p.detach().clone() for p in mine]
        self.fast_path.append(self.monitor.dispatcher.fast_path.active)
        self.optimizer.step()
        self.expected["param_norm"].append(norm(mine))
        self.expected["update_norm"].append(norm([p - old for p, old in zip(mine, before, strict=True)]))

    def run(self, steps=STEPS, between=lambda step: None):
        for step in range(steps):
            self.step()
            between(step)
        return self

    def recorded(self):
        return recorded(self.monitor)

    def check(self):
        run = self.recorded()
        for vital, expected in self.expected.items():
            assert run.series(vital).steps.tolist() == list(range(len(expected))), vital
            np.testing.assert_allclose(run.series(vital).values, expected, rtol=1e-5, err_msg=vital)
        return run


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
def test_the_numbers_are_the_obvious_ones(kind, clip, way, tmp_path):
    loop = Loop(tmp_path / "run", kind=kind, clip=clip).run()
    assert sum(loop.fast_path) >= 25, "after the first hundred steps nearly all are quiet"
    run = loop.check()
    assert set(run.series("nonfinite_params").values) == {0.0}
    for owner in run.owners("update_norm"):
        assert len(run.series("update_norm", owner)) == STEPS


class ClipsInside(torch.optim.SGD):
    """Changes the gradients that it was given."""

    def step(self, closure=None):
        for group in self.param_groups:
            nn.utils.clip_grad_value_(group["params"], 1e-3)
        return super().step(closure)


def clears_afterwards(parameters, lr):
    optimizer = torch.optim.SGD(parameters, lr=lr)
    optimizer.register_step_post_hook(lambda *_: optimizer.zero_grad())
    return optimizer


OPTIMIZERS = {
    "SGD": torch.optim.SGD,
    "Nesterov": partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "Nesterov foreach": partial(torch.optim.SGD, momentum=0.9, nesterov=True, foreach=True),
    "Adam with decay": partial(torch.optim.Adam, weight_decay=0.1),
    "AdamW fused": partial(torch.optim.AdamW, fused=True),
    "AdamW uphill": partial(torch.optim.AdamW, maximize=True),
    "RMSprop": torch.optim.RMSprop,
    "one that clips inside": ClipsInside,
    "one whose hook clears the gradients": clears_afterwards,
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_gradients_are_those_that_the_optimizer_met(optimizer, way, tmp_path):
    loop = Loop(tmp_path / "run", optimizer=optimizer).run()
    assert sum(loop.fast_path) >= 25
    loop.check()


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_who_is_said_to_leave_gradients_alone_does(kind, nesterov, foreach):
    options = {"momentum": 0.9, "nesterov": nesterov} if kind is torch.optim.SGD else {"amsgrad": nesterov}
    for decay in (0.0, 0.1):
        parameter = nn.Parameter(torch.randn(50))
        optimizer = kind([parameter], lr=0.1, weight_decay=decay, foreach=foreach, **options)
        for _ in range(5):
            given = torch.randn(50)
            parameter.grad = given.clone()
            optimizer.step()
            if leaves_gradients_alone(optimizer):
                assert torch.equal(parameter.grad, given)
    assert leaves_gradients_alone(optimizer) is not foreach


def clamp(parameters):
    for p in parameters:
        p.data.clamp_(-1e-4, 1e-4)  # unseen by the tensor's version


def shrink(parameters):
    with torch.no_grad():
        for p in parameters:
            p.mul_(0.9)


def replace(parameters):
    for p in parameters:
        p.data = p.data * 0.9


@pytest.mark.parametrize("change", [clamp, shrink, replace])
def test_what_others_change_between_steps_is_no_update(change, way, tmp_path):
    loop = Loop(tmp_path / "run").run()
    for _ in range(20):
        change(loop.model.parameters())
        loop.step()
    assert loop.fast_path[-1]
    loop.check()


def test_one_tensor_that_is_clamped_after_every_step_is_soon_noticed(way, tmp_path):
    loop = Loop(tmp_path / "run")
    loop.run(between=lambda step: clamp([next(loop.model.parameters())]))
    values = loop.recorded().series("update_norm").values
    np.testing.assert_allclose(values[-20:], loop.expected["update_norm"][-20:], rtol=1e-5)


def many_layers():
    return nn.Sequential(nn.Flatten(), *[nn.LazyLinear(12) for _ in range(40)], nn.Linear(12, 10))


def test_one_of_many_tensors_that_is_moved_elsewhere_is_soon_noticed(way, tmp_path):
    model = many_layers()
    model(CASES["mlp"].batch()[0])  # the layers that wait for an input get their shapes
    loop = Loop(tmp_path / "run", model=model).run()
    replace([loop.model[20].weight])
    loop.run(30)
    assert loop.fast_path[-1]
    run = loop.recorded()
    for vital in ("update_norm", "param_norm"):
        np.testing.assert_allclose(run.series(vital).values[-20:], loop.expected[vital][-20:], rtol=1e-5, err_msg=vital)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(8, 10), nn.Linear(8, 10)

    def forward(self, x):
        return self.used(x.flatten(1)[:, :8])


def test_parameters_without_a_gradient_are_missing_and_not_zero(way, tmp_path):
    loop = Loop(tmp_path / "run", model=Branches()).run()
    assert loop.fast_path[-1]
    run = loop.check()
    assert len(run.series("grad_norm", "used")) == STEPS
    assert run.series("grad_norm", "unused") is None or not len(run.series("grad_norm", "unused"))
    assert {p.name: p.gradient_steps for p in run.parameters} == {
        "used.weight": STEPS, "used.bias": STEPS, "unused.weight": 0, "unused.bias": 0,
    }  # fmt: skip


def test_a_layer_that_is_unfrozen_later_is_read_from_then_on(way, tmp_path, monkeypatch):
    monkeypatch.setattr(flush_cycle, "CHECK_INTERVAL_SECONDS", 0.0)
    model = Branches()
    model.used.bias.requires_grad_(False)
    loop = Loop(tmp_path / "run", model=model).run()
    model.used.bias.requires_grad_(True)
    loop.monitor.diagnose()  # what waits is written, and the model is looked over
    loop.run(30)
    assert loop.fast_path[-1]
    loop.check()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_reading_that_fails_never_stops_the_training(moment, way, tmp_path, monkeypatch):
    loop = Loop(tmp_path / "run").run()
    assert loop.fast_path[-1]
    monkeypatch.setattr(Reader, moment, lambda self, step: 1 / 0)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        loop.step()
    loop.run(3)
    loop.monitor.close()
    assert open_run(loop.folder).events_of("switched_off")


def test_weights_are_bitwise_equal_to_those_of_an_unwatched_training(way, tmp_path):
    watched = Loop(tmp_path / "run").run()
    torch.manual_seed(3)
    model = watched.case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        inputs, targets = watched.case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    watched.monitor.close()
    for one, other in zip(watched.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_machine_code_is_loaded_once_the_plain_way_has_taken_as_long(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(native, "load_in_background", lambda: begun.append(True))
    monkeypatch.setattr(native, "LOADING_SECONDS", 1e9)
    loop = Loop(tmp_path / "run").run()
    loop.monitor.diagnose()
    assert not begun
    monkeypatch.setattr(
        native, "LOADING_SECONDS", loop.monitor.dispatcher.budget.sum_seconds + 1e-9
    )  # the fast-path steps count as well
    loop.run(60)
    assert loop.fast_path[-1]
    loop.monitor.diagnose()
    assert begun
    loop.monitor.close()


def test_under_a_budget_machine_code_is_loaded_only_where_a_reading_is_dear():
    needed, dear = native.LOADING_SECONDS, native.DEAR_READING
    assert native.is_worth_loading(2 * needed, reading=2 * dear, limited=True)
    assert not native.is_worth_loading(2 * needed, reading=0.5 * dear, limited=True), "it would stay in memory"
    assert native.is_worth_loading(2 * needed, reading=0.5 * dear, limited=False)
    assert not native.is_worth_loading(0.5 * needed, reading=2 * dear, limited=False)
