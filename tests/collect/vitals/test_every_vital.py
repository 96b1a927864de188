"""What holds for every collector: it changes nothing, leaves nothing behind, and survives any model."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import pytest
import torch
from tests.collect.models import CASES
from torch import nn
from torch.nn import functional as F
from torch.nn.modules import module as torch_modules
from torch.optim import lr_scheduler

import bedside
from bedside.collect.hooks.torch_patches import LOSSES
from bedside.collect.model.nonlinearities import FUNCTIONS as NONLINEARITIES
from bedside.collect.vitals import COLLECTORS
from bedside.collect.vitals.attention import FUNCTIONS as ATTENTION
from bedside.monitor import watch as watching
from bedside.record.sqlite.reader import open_run
from bedside.record.vocabulary import VITALS

EVERY = pytest.mark.parametrize("collector", COLLECTORS, ids=lambda each: each.name)


class DropsAndNormalises(nn.Module):
    """Everything that has a state of its own: dropout, running statistics, a buffer that counts, an attribute."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 8, 3, padding=1), nn.BatchNorm1d(8)
        self.attn = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(8, 5)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.seen = 0

    def forward(self, x):
        self.calls += 1
        self.seen += 1
        x = F.relu(self.norm(self.conv(x[:, None])), inplace=True).transpose(1, 2)
        x = x + self.drop(self.attn(x, x, x, need_weights=False)[0])
        return self.head(torch.tanh(x).mean(1))


def loop(model, steps=12, call=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = lr_scheduler.StepLR(optimizer, 5)
    monitor = None

    def go(watch):
        nonlocal monitor
        monitor = watch(model, optimizer)
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy((call or model)(torch.randn(8, 12)), torch.randint(5, (8,))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        if monitor is not None:
            monitor.close()
        return optimizer

    return go


@pytest.fixture
def only(monkeypatch, tmp_path):
    """Watch with one collector only, and fail if it was switched off."""

    def watch_with(collector, **options):
        monkeypatch.setattr(watching, "COLLECTORS", (collector,) if collector else ())
        return lambda model, optimizer: bedside.watch(
            model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None, **options
        )

    yield watch_with
    if (tmp_path / "run").exists():
        assert not open_run(tmp_path / "run").events_of("switched_off")


def state_of(model, optimizer):
    state = {f"model {k}": v for k, v in model.state_dict().items()}
    for i, each in optimizer.state_dict()["state"].items():
        state |= {f"optimizer {i} {k}": v for k, v in each.items()}
    return {k: v.clone() for k, v in state.items()} | {"random": torch.get_rng_state()}


@EVERY
def test_weights_state_buffers_and_random_numbers_are_bitwise_equal(collector, only):
    def trained(watch):
        torch.manual_seed(4)
        model = DropsAndNormalises()
        return model, loop(model)(watch)

    plain = trained(lambda *_: None)
    expected = state_of(*plain)
    watched = trained(only(collector))
    found = state_of(*watched)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name
    assert plain[0].seen == watched[0].seen


def what_could_be_left(model):
    functions = {(str(home), name): getattr(home, name) for home, name in {*NONLINEARITIES, *ATTENTION}}
    own = {(str(home), name): name in vars(home) for home, name in {*NONLINEARITIES, *ATTENTION}}
    losses = {name: getattr(home, function) for name, (home, function) in LOSSES.items()}
    hooks = [(dict(m._forward_hooks), dict(m._forward_pre_hooks), sorted(vars(m))) for m in model.modules()]
    everywhere = [dict(torch_modules._global_forward_hooks), dict(torch_modules._global_forward_pre_hooks)]
    schedulers = [lr_scheduler.LRScheduler.step, lr_scheduler.SequentialLR.step]
    return [functions, own, losses, hooks, everywhere, schedulers]


@EVERY
def test_nothing_is_left_behind(collector, only):
    model = DropsAndNormalises()
    before = what_could_be_left(model)
    loop(model)(only(collector))
    assert what_could_be_left(model) == before


@EVERY
def test_nothing_is_left_in_the_forward_when_it_fails(collector, only):
    model = DropsAndNormalises()
    before = what_could_be_left(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = only(collector)(model, optimizer)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            model(torch.randn(8, 12, 3))
        assert [len(m._forward_hooks) for m in model.modules()] == [0] * len(list(model.modules()))
        assert not torch_modules._global_forward_hooks
    monitor.close()
    assert what_could_be_left(model) == before


@dataclass
class Output:
    logits: torch.Tensor
    extra: dict


class Odd(nn.Module):
    """Tuples, dicts and dataclasses; a module called twice; one without any tensor; integers; an empty batch."""

    def __init__(self):
        super().__init__()
        self.shared, self.act, self.words, self.head = nn.Linear(4, 4), nn.ReLU(), Words(), nn.Linear(4, 3)
        self.pair, self.table = Pair(), nn.Embedding(7, 4)

    def forward(self, batch, *, flag):
        one, two = self.pair(batch["x"])
        x = self.act(self.shared(self.act(self.shared(one)))) + two["half"]
        self.words("nothing")
        x = x + self.table(batch["tokens"]).mean(1) + self.shared(x[:0]).sum()
        return Output(self.head(x), {"flag": flag})


class Pair(nn.Module):
    def forward(self, x):
        return x, {"half": x / 2, "note": None}


class Words(nn.Module):
    def forward(self, word):
        return word


@EVERY
def test_any_input_and_output_is_survived(collector, only):
    model = Odd()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with only(collector)(model, optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            batch = {"x": torch.randn(6, 4), "tokens": torch.randint(7, (6, 5))}
            F.cross_entropy(model(batch, flag=True).logits, torch.randint(3, (6,))).backward()
            optimizer.step()


@EVERY
def test_half_precision_and_autocast_are_survived(collector, only):
    model = DropsAndNormalises()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with only(collector)(model, optimizer):
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(torch.randn(8, 12)), torch.randint(5, (8,)))
            loss.backward()
            optimizer.step()


@EVERY
@pytest.mark.parametrize("kind", CASES)
def test_it_writes_what_it_promises_and_nothing_else(collector, kind, only, tmp_path):
    assert set(collector.vitals) <= set(VITALS)
    case = CASES[kind]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with only(collector)(model, optimizer):
        for _ in range(3):
            inputs, targets = case.batch()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    of_others = {vital for each in COLLECTORS if each is not collector for vital in each.vitals}
    assert not set(open_run(tmp_path / "run").vitals) & of_others


def test_copies_and_pickles_of_a_watched_model_know_nothing_of_bedside(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        average = copy.deepcopy(model)
        stored = pickle.dumps(model)
        x = torch.randn(3, 4)
        assert torch.equal(average(x), model(x))
        assert torch.equal(pickle.loads(stored)(x), model(x))
    assert b"bedside" not in stored


def test_names_are_used_once_and_vitals_have_one_collector():
    assert len({each.name for each in COLLECTORS}) == len(COLLECTORS)
    vitals = [vital for each in COLLECTORS for vital in each.vitals]
    assert len(set(vitals)) == len(vitals)


def test_a_collector_that_fails_in_the_forward_is_switched_off_and_harms_nobody(tmp_path, monkeypatch):
    from bedside.collect.vitals import dead_units

    monkeypatch.setattr(dead_units, "look", lambda *_: 1 / 0)
    model = DropsAndNormalises()
    with pytest.warns(RuntimeWarning, match="bedside switched off dead_units .*ZeroDivisionError"):
        loop(model, steps=3)(lambda m, o: bedside.watch(m, o, run_dir=tmp_path / "run", quiet=True))
    run = open_run(tmp_path / "run")
    assert [event.data["where"] for event in run.events_of("switched_off")] == ["dead_units"]
    assert len(run.series("activation_rms", "conv")) == 3
