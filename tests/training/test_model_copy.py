"""A copy is asked, and nothing that the user's program can see has changed afterwards."""

from __future__ import annotations

import copy
import io
import random
import threading
from functools import partial
from itertools import count

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from bedside.training import free_memory
from bedside.training.model_copy import Call, Limits, NotCopied, answers, independent, model_copy
from bedside.training.plain_modules import copy_plain_modules
from bedside.training.random_state import save_random_state

GENERATOR = np.random.default_rng(0)
SEEN: dict[str, int] = {}
CALLS = 0
NUMBERS = count()


class Stateful(nn.Module):
    """Changes everything that a forward can change, inside and outside of itself."""

    table = {"calls": 0}  # noqa: RUF012  (shared by all instances, on purpose)

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.spectral = parametrizations.spectral_norm(nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4)
        self.state = torch.zeros(4)
        self.counts = {"calls": 0}
        self.own = np.random.default_rng(1)
        self.torch_own = torch.Generator()
        self.kept = None

    def forward(self, x):
        global CALLS
        CALLS += 1
        self.table["calls"] += 1
        SEEN["calls"] = SEEN.get("calls", 0) + 1
        self.counts["calls"] += 1
        x *= 2  # the argument itself
        x = self.norm(self.spectral(torch.dropout(self.linear(x), 0.5, True)))
        self.state += x.detach().mean(0)
        self.kept = x  # part of a graph, which deepcopy refuses
        noise = self.own.normal() + GENERATOR.normal() + random.random() + np.random.rand()
        return x + noise + torch.randn(4, generator=self.torch_own)


def everything(model):
    generators = [GENERATOR, model.own]
    return [
        *(each.clone() for each in model.state_dict().values()),
        model.state.clone(),
        model.torch_own.get_state(),
        torch.get_rng_state(),
        (CALLS, dict(SEEN), dict(model.counts), dict(model.table)),
        [each.bit_generator.state for each in generators],
        random.getstate(),
        str(np.random.get_state()),
    ]


def same(one, other):
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(one, other, strict=True))


def test_nothing_changes_wherever_a_forward_keeps_its_state():
    model, x = Stateful(), torch.randn(8, 4)
    model(x.clone())
    before, batch, kept = everything(model), x.clone(), model.kept
    first, second = answers(model, [Call((x,)), Call((x,))])
    assert same(before, everything(model))
    assert torch.equal(batch, x)
    assert model.kept is kept
    assert torch.equal(first, second), "each starts from the same state and random numbers"
    assert torch.equal(first, model(x.clone())), "and that is the state of the model itself"
    assert not first.requires_grad


def test_an_exception_in_the_forward_is_a_reason_and_changes_nothing():
    model, wrong = Stateful(), torch.randn(8, 5)
    before = everything(model)
    with pytest.raises(NotCopied, match="RuntimeError"):
        answers(model, [Call((wrong,))])
    assert same(before, everything(model))


def reads_an_iterator():
    class Reads(nn.Linear):
        def forward(self, x):
            return super().forward(x) * next(NUMBERS)

    return Reads(4, 4)


def reads_what_it_closes_over():
    numbers = iter(range(9))

    class Reads(nn.Linear):
        def forward(self, x):
            return super().forward(x) * next(numbers)

    return Reads(4, 4)


def holds_an_iterator():
    model = nn.Linear(4, 4)
    model.numbers = iter([1, 2, 3])
    return model


def has_a_hook():
    model = nn.Sequential(nn.Linear(4, 4))
    model[0].register_forward_hook(lambda *_: None)
    return model


def holds_a_lock():
    model = nn.Linear(4, 4)
    model.lock = threading.Lock()
    return model


def holds_a_file():
    model = nn.Linear(4, 4)
    model.file = io.StringIO()
    return model


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (reads_an_iterator, "its code uses `NUMBERS`, an iterator"),
        (reads_what_it_closes_over, "its code uses `numbers`, an iterator"),
        (holds_an_iterator, "the model.numbers is an iterator"),
        (has_a_hook, "`0` has a forward hook"),
        (holds_a_lock, "it cannot be copied"),
        (holds_a_file, "an open file"),
        (lambda: nn.LazyLinear(4), "has no shape yet"),
    ],
)
def test_a_model_that_would_notice_is_left_alone(make, why):
    model = make()
    with pytest.raises(NotCopied, match=why):
        answers(model, [Call((torch.randn(2, 4),))])


def test_a_copy_that_would_not_fit_comfortably_is_not_made(monkeypatch):
    monkeypatch.setattr("bedside.training.model_copy.free_memory", lambda device: 5 << 20)
    model = nn.Linear(1024, 512)  # two of five megabytes
    with pytest.raises(NotCopied, match="a copy takes 2 of the 5 MB that are free on cpu"):
        answers(model, [Call((torch.randn(2, 1024),))])
    assert len(answers(model, [Call((torch.randn(2, 1024),))], limits=Limits(share=0.5))) == 1


def test_tied_weights_count_once_and_stay_tied():
    model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
    model[1].weight = model[0].weight
    with model_copy(model) as twin:
        assert twin[1].weight is twin[0].weight
        assert twin[0].weight is not model[0].weight


def test_arguments_of_any_kind_are_independent():
    x = torch.randn(3, requires_grad=True) * 2
    given = {"x": x, "more": [np.zeros(2), ("a", {"b": torch.ones(1)})]}
    copied = independent(given)
    copied["x"] += 1
    copied["more"][0] += 1
    copied["more"][1][1]["b"] += 1
    assert copied["x"].grad_fn is None
    assert not np.any(given["more"][0])
    assert given["more"][1][1]["b"] == 1
    with pytest.raises(NotCopied, match="iterator"):
        independent([iter([1])])


def test_free_memory_is_what_the_container_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(free_memory, "CGROUP", tmp_path)
    machine = free_memory.free_memory(torch.device("cpu"))
    assert machine > 0
    (tmp_path / "memory.max").write_text("100000\n")
    (tmp_path / "memory.current").write_text("60000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 20000\n")
    assert free_memory.free_memory(torch.device("cpu")) == 60000


def test_random_numbers_go_on_although_the_copy_draws_some():
    model = nn.Dropout(0.5)
    restore = save_random_state()
    expected = torch.rand(1), random.random(), np.random.rand()
    restore()
    answers(model, [Call((torch.ones(100),))])
    assert (torch.rand(1), random.random(), np.random.rand()) == expected


def test_what_listens_to_a_module_is_neither_looked_through_nor_copied():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model[0].__dict__["_compiled_call_impl"] = partial(model[0]._call_impl)
    model[0]._compiled_call_impl.watcher = iter([1])  # an obstacle, if it were copied
    with model_copy(model) as twin:
        assert "_compiled_call_impl" not in twin[0].__dict__ or twin[0]._compiled_call_impl is None


def test_a_model_whose_memory_was_given_back_is_not_copied():
    model = nn.Linear(20, 20)
    model.weight.data.untyped_storage().resize_(0)
    with pytest.raises(NotCopied, match="was given back"), model_copy(model):
        pass


class SaysHow(nn.Linear):
    def __deepcopy__(self, memo):
        return "its own copy"


class IsPickledItsOwnWay(nn.Linear):
    def __getstate__(self):
        return super().__getstate__() | {"pickled": True}


def test_plain_modules_are_copied_as_deepcopy_copies_them():
    shared, tied = {}, nn.Linear(3, 3)
    model = nn.Sequential(tied, nn.Sequential(nn.LayerNorm(3), tied), nn.LSTM(3, 3), nn.BatchNorm1d(3), nn.Softmax(1))
    model.append(parametrizations.spectral_norm(nn.Linear(3, 3)))
    model.append(IsPickledItsOwnWay(3, 3))
    model[0].notes, model[1].notes, model[1].names = shared, shared, ["a"]
    memo = {}
    copy_plain_modules(model, memo)
    ours, theirs = copy.deepcopy(model, memo), copy.deepcopy(model)

    assert [type(each) for each in ours.modules()] == [type(each) for each in theirs.modules()]
    for mine, other, original in zip(ours.modules(), theirs.modules(), model.modules(), strict=True):
        assert mine is not original
        assert list(vars(mine)) == list(vars(other))
        for name, value in vars(mine).items():
            assert type(value) is type(vars(other)[name])
            if isinstance(value, dict | set | list):
                assert value is not vars(original)[name]
                assert len(value) == len(vars(other)[name])
    assert ours[0] is ours[1][1]
    assert ours[0].notes is ours[1].notes
    assert ours[6].pickled
    assert all(torch.equal(a, b) for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True))
    assert not {id(p) for p in ours.parameters()} & {id(p) for p in model.parameters()}


def test_a_module_that_says_how_it_is_copied_is_asked():
    model, memo = nn.Sequential(nn.Linear(3, 3)), {}
    model.inner = nn.ModuleList([SaysHow(3, 3)])
    copy_plain_modules(model, memo)
    assert memo[id(model.inner[0])] == "its own copy"
