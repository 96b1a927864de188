"""Modules tell what they return without a hook, and are left as they were."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

from bedside.collect.hooks.call_slot import SLOT as CALL_SLOT
from bedside.collect.hooks.module_outputs import ModuleCalls, keeping_cost


class Ears:
    """Observes a model and writes down who returned what."""

    def __init__(self, model):
        self.recorded = []
        self._model = model
        self.calls = ModuleCalls(model.modules(), lambda module, output: self.recorded.append((module, output)))

    def __enter__(self):
        self.calls.on(self._model)
        return self

    def __exit__(self, *_):
        self.calls.off()


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 3)))


def untouched(model):
    return not any(CALL_SLOT in vars(m) or m._forward_hooks for m in model.modules())


def test_every_module_is_heard_in_the_order_of_return(model):
    with Ears(model) as ears:
        output = model(torch.ones(2, 4))
    assert [m for m, _ in ears.recorded] == [model[0], model[1][0], model[1][1], model[1], model]
    assert ears.recorded[-1][1] is output
    assert untouched(model)
    model(torch.ones(2, 4))
    assert len(ears.recorded) == 5, "nobody listens any more"


@pytest.mark.parametrize("first", [0, 1])
def test_several_may_listen_and_leave_in_any_order(model, first):
    ears = [Ears(model), Ears(model)]
    for _ in range(2):  # the second time all is as it was the first
        for each in ears:
            each.recorded.clear()
            each.calls.on(model)
        model(torch.ones(2, 4))
        ears[first].calls.off()
        model(torch.ones(2, 4))
        ears[1 - first].calls.off()
        assert [len(ears[first].recorded), len(ears[1 - first].recorded)] == [5, 10]
        assert untouched(model)


def test_a_call_that_the_user_compiled_is_made_and_put_back(model):
    made = []

    def compiled(x):
        made.append(x)
        return model[0]._call_impl(x)

    vars(model[0])[CALL_SLOT] = compiled
    for _ in range(2):
        with Ears(model) as ears:
            model(torch.ones(2, 4))
        assert len(ears.recorded) == 5
        assert vars(model[0])[CALL_SLOT] is compiled
    assert len(made) == 2


def test_a_copy_that_shares_everything_is_called_itself(model):
    original = model[0]
    with Ears(model) as ears:
        copied = nn.Linear.__new__(nn.Linear)
        copied.__dict__ = original.__dict__.copy()  # as nn.DataParallel does, in the middle of a forward
        copied._parameters = {name: torch.zeros_like(p) for name, p in original._parameters.items()}
        assert not copied(torch.ones(2, 4)).any()
    assert not ears.recorded, "it is not a module of the model"
    assert not copied(torch.ones(2, 4)).any(), "nor later, when nobody listens"


class Careless(nn.Linear):
    def __getstate__(self):
        return self.__dict__.copy()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_that_are_made_meanwhile_are_nobodys_patients(copied):
    model = nn.Sequential(nn.Linear(4, 4), Careless(4, 4))
    with Ears(model) as ears:
        other = copied(model)
        other(torch.ones(2, 4))
    assert not ears.recorded
    assert all(vars(m).get(CALL_SLOT) is None for m in other.modules())


def test_a_forward_that_fails_leaves_nothing_behind(tmp_path):
    class Fails(nn.Module):
        def forward(self, x):
            if failing:
                raise ValueError("of the user's")
            return x

    failing = False
    model = nn.Sequential(nn.Linear(4, 4), Fails())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        nonlocal failing
        failing = step == 1
        if failing:
            with pytest.raises(ValueError, match="of the user's"):
                model(torch.ones(2, 4))
            assert not any(CALL_SLOT in vars(m) for m in list(model.modules())[1:])
            failing = False
        model(torch.ones(2, 4)).square().sum().backward()
        optimizer.step()

    watched(model, optimizer, tmp_path, body, 3)


class Doubles(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return 2 * self.inner(x)


def test_a_module_that_is_entered_below_the_root_is_heard_itself(tmp_path):
    model = nn.ModuleDict({"front": nn.Linear(4, 4), "back": Doubles()})  # never called as a whole
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model["back"](model["front"](torch.ones(8, 4))).square().mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, 8)
    assert run.owners("activation_rms") == ["front", "back.inner", "back"]
    inner, back = run.series("activation_rms", "back.inner"), run.series("activation_rms", "back")
    assert back.last == pytest.approx(2 * inner.last)


def test_what_hearing_takes_is_timed_without_calling_any_module():
    called = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: called.append(module))
    try:
        keeping_cost.cache_clear()
        seconds = keeping_cost()
    finally:
        handle.remove()
    assert not called, "hooks of the user's on all modules hear nothing of it"
    assert 1e-8 < seconds < 1e-3
