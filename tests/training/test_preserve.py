"""Whatever happens inside the block, everything is bitwise as before when it is over."""

from __future__ import annotations

import dataclasses
import os
import random
import signal

import numpy as np
import pytest
import torch
from tests.training.models import Net, a_training, cross_entropy, everything, examples, loader, same
from torch import nn
from torch.utils.data import DataLoader, Dataset

from bedside.errors import BadModel, BadOption
from bedside.training.loader import Batches
from bedside.training.preserve import preserved
from bedside.training.step import Loop, Training


def ruin(training):
    """Every kind of change an experiment can make, and some that none makes."""
    for step in range(4):
        training.step(step + 5)
    model = training.model
    model.eval()
    model.head.weight.requires_grad_(False)
    model.head.weight.data = torch.full_like(model.head.weight, float("nan"))
    model.body[0].register_forward_hook(lambda *args: None)
    model.extra = 1
    training.optimizer.param_groups[0]["lr"] = 7.0
    training.optimizer.state.clear()
    random.random(), np.random.rand(), torch.rand(3)
    list(training.loader)


def test_everything_is_back_also_the_objects_themselves():
    training = a_training()
    training.step(9)
    before, weight = everything(training), training.model.head.weight
    gradient = weight.grad
    with preserved(training.model, *training.parts, loader=training.loader) as state:
        assert weight.grad is None
        ruin(training)
        assert not same(everything(training), before)
        state.rewind()
        assert weight.grad is None
        ruin(training)
    assert same(everything(training), before)
    assert training.model.head.weight is weight
    assert weight.grad is gradient
    assert not training.model.body[0]._forward_hooks
    assert not hasattr(training.model, "extra")


@pytest.mark.parametrize("raised", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_everything_is_back_when_the_block_is_left_by_an_exception(raised):
    training = a_training()
    before = everything(training)

    def left_early():
        with preserved(training.model, *training.parts, loader=training.loader):
            ruin(training)
            raise raised

    with pytest.raises(raised):
        left_early()
    assert same(everything(training), before)


def test_training_goes_on_bitwise_as_if_nothing_had_happened():
    ends = []
    for disturbed in (False, True):
        training = a_training()
        if disturbed:
            with preserved(training.model, *training.parts, loader=training.loader):
                ruin(dataclasses.replace(training))
        rest = dataclasses.replace(training)  # the same objects, reading the loader from where it stands
        for step in range(4):
            rest.step(step)
        ends.append(everything(training))
    assert same(*ends)


def test_rewinding_gives_the_same_steps_again():
    training = a_training()
    with preserved(training.model, *training.parts, loader=training.loader) as state:
        first = [training.step(step) for step in range(4)]
        state.rewind()
        assert [training.step(step) for step in range(4)] == first


def test_a_second_ctrl_c_waits_until_everything_is_back(monkeypatch):
    training = a_training()
    before = everything(training)
    from bedside.training import preserve

    restore = preserve.Preserved.clear_gradients

    def pressed_while_restoring(self):
        restore(self)
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted():
        with preserved(training.model, *training.parts, loader=training.loader) as state:
            monkeypatch.setattr(preserve.Preserved, "clear_gradients", pressed_while_restoring)
            ruin(training)
            state.rewind()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert same(everything(training), before)


class Stream(Dataset):
    """A data set with a position and random numbers of its own."""

    def __init__(self):
        self.x, self.y = examples(24)
        self.served, self.noise = 0, np.random.default_rng(3)
        self.order = list(range(24))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        self.served += 1
        random.Random(self.served).shuffle(self.order)
        return self.x[row] + float(self.noise.normal()), self.y[row]


def test_the_position_of_a_data_set_is_put_back():
    data = Stream()
    batches = DataLoader(data, batch_size=8, shuffle=True)
    torch.manual_seed(0)
    with preserved(nn.Linear(1, 1), loader=batches):
        first = [x for x, _ in batches]
    assert data.served == 0
    assert data.order == list(range(24))
    again = [x for x, _ in batches]
    assert all(map(torch.equal, first, again))


def test_persistent_workers_keep_the_pass_that_training_is_in():
    batches = loader(shuffle=False, num_workers=1, persistent_workers=True)
    passing = iter(batches)
    next(passing)
    assert len(Batches(batches).first(3)) == 3
    assert sum(1 for _ in passing) == len(batches) - 1


def test_short_loaders_begin_anew_and_what_is_read_once_is_refused():
    batches = Batches([1, 2, 3])
    assert [batches[i] for i in range(7)] == [1, 2, 3, 1, 2, 3, 1]
    assert batches.first(9) == [1, 2, 3]
    with pytest.raises(BadOption, match="can be read only once"):
        Batches(iter([1, 2]))
    with pytest.raises(BadOption, match="has no batches"):
        Batches([])[0]
    with pytest.raises(BadOption, match="int, which has no batches"):
        Batches(3)


def test_a_model_that_is_not_built_yet_is_refused():
    with pytest.raises(BadModel, match="without a shape yet: weight"), preserved(nn.LazyLinear(3)):
        pass


def test_a_loss_without_a_gradient_and_a_missing_optimizer_are_explained():
    model = Net()
    with pytest.raises(BadModel, match="No optimizer was given"):
        Training(model, loader(), cross_entropy).step(0)
    with pytest.raises(BadModel, match="The loss has no gradient"):
        Training(model, loader(), lambda o, b: cross_entropy(o, b).detach(), torch.optim.SGD(model.parameters())).step(
            0
        )


def test_accumulated_micro_batches_take_the_same_step_as_one_large_batch():
    x, y = examples(32)
    ends = []
    for batches, accumulate in (([(x, y)], 1), ([(x[:16], y[:16]), (x[16:], y[16:])], 2)):
        torch.manual_seed(0)
        model = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        Training(model, batches, cross_entropy, optimizer, loop=Loop(accumulate=accumulate)).step(0)
        ends.append(model.weight.detach().clone())
    assert torch.allclose(*ends)
