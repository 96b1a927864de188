"""Models that keep state where a careless observer would touch it: one small training for each.

A training here is a function that makes a model and its optimizer, calls `watch(model, optimizer)`, and takes some
steps. Everything that must be the same with and without watching hangs on the model, or is in `OUTSIDE`. In most of
them one batch makes a NaN, whose step is left out, so that whatever looks into it has something to look for.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint

STEPS, BAD = 36, 17  # in all, and the one whose batch makes a NaN
Watch = Callable[[nn.Module, Any], Any]
TRAININGS: dict[str, Callable[[Watch], None]] = {}
OUTSIDE: dict[str, Any] = {}  # what the models reach outside of themselves


def training(function: Callable[[Watch], None]) -> Callable[[Watch], None]:
    TRAININGS[function.__name__.replace("_", "-")] = function
    return function


def batches(steps: int = STEPS, bad: int | None = BAD) -> Iterator[tuple[Tensor, Tensor]]:
    for step in range(steps):
        x = torch.randn(12, 16)
        if step == bad:
            x[0, 0] = float("nan")
        yield x, torch.randint(4, (12,))


def train(model: nn.Module, watch: Watch, optimizer: Any = None, *, after_watch: Any = None, **how: Any) -> None:
    """The loop that skips what is not finite, as careful people write it."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    if after_watch is not None:
        after_watch(model)
    for x, y in batches(**how):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if loss.isfinite():
            optimizer.step()
    monitor.close()


def around(middle: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), middle, nn.ReLU(), nn.Linear(16, 4)
    )


def with_middle(make: Callable[[], nn.Module]) -> None:
    """A training of an ordinary net around one strange module."""
    TRAININGS[make.__name__.strip("_").replace("_", "-")] = lambda watch: train(around(make()), watch)


# Weights that are computed when they are read.


@with_middle
def spectral_norm_parametrization() -> nn.Module:
    return parametrizations.spectral_norm(nn.Linear(16, 16))


@with_middle
def spectral_norm_hook() -> nn.Module:
    return spectral_norm(nn.Linear(16, 16))


@with_middle
def weight_norm_parametrization() -> nn.Module:
    return parametrizations.weight_norm(nn.Linear(16, 16))


@with_middle
def weight_norm_hook() -> nn.Module:
    return weight_norm(nn.Linear(16, 16))


@with_middle
def orthogonal_parametrization() -> nn.Module:
    return parametrizations.orthogonal(nn.Linear(16, 16))


class DropConnect(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return F.dropout(weight, 0.3, self.training)


@with_middle
def drop_connect() -> nn.Module:
    layer = nn.Linear(16, 16)
    parametrize.register_parametrization(layer, "weight", DropConnect())
    return layer


@with_middle
def spectral_norm_of_a_convolution() -> nn.Module:
    convolution = parametrizations.spectral_norm(nn.Conv1d(1, 1, 3, padding=1))
    return nn.Sequential(nn.Unflatten(1, (1, 16)), convolution, nn.Flatten())


class EveryPropertyRaises(nn.Linear):
    """Nobody may ask it anything but to be called."""

    config = module = dropout = p = drop_prob = drop_rate = loss = original = property(lambda self: 1 / 0)

    def __getattr__(self, name: str) -> Any:
        OUTSIDE["asked"] = OUTSIDE.get("asked", 0) + 1  # whoever asks for what is not there is counted
        return super().__getattr__(name)

    def forward(self, x: Tensor) -> Tensor:
        tables = self.__dict__["_parameters"]
        return F.linear(x, tables["weight"], tables["bias"])


class DropCounts(nn.Linear):
    """Properties that change something when they are read."""

    @property
    def drop_rate(self) -> float:
        OUTSIDE["read"] = OUTSIDE.get("read", 0) + 1
        return float(torch.rand(()))


TRAININGS["every-property-raises"] = lambda watch: train(around(EveryPropertyRaises(16, 16)), watch)
TRAININGS["counting-property"] = lambda watch: train(around(DropCounts(16, 16)), watch)


# State outside parameters and buffers.


class Strange(nn.Module):
    """Calls `change` in every forward."""

    def __init__(self, change: Callable[[Any, Tensor], Tensor], **state: Any) -> None:
        super().__init__()
        self.change = change
        for name, value in state.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self, x)


def strange(name: str, change: Callable[[Any, Tensor], Tensor], **state: Callable[[], Any]) -> None:
    def run(watch: Watch) -> None:
        train(around(Strange(change, **{key: make() for key, make in state.items()})), watch)

    TRAININGS[name] = run


def _in_place(self: Any, x: Tensor) -> Tensor:
    self.mean.mul_(0.9).add_(x.detach().nan_to_num().mean(0), alpha=0.1)
    return x - self.mean


def _rebound(self: Any, x: Tensor) -> Tensor:
    self.last = x
    self.calls += 1
    return x * (1 + 0.01 * (self.calls % 3))


def _dict(self: Any, x: Tensor) -> Tensor:
    self.seen["calls"] = self.seen.get("calls", 0) + 1
    self.seen.setdefault("norms", []).append(float(x.detach().nan_to_num().norm()))
    return x + 0.001 * self.seen["calls"]


def _deque(self: Any, x: Tensor) -> Tensor:
    self.memory.append(x.detach().nan_to_num().mean(0))
    return x + torch.stack(list(self.memory)).mean(0)


def _numpy(self: Any, x: Tensor) -> Tensor:
    return x + torch.from_numpy(self.generator.normal(0, 0.01, 16)).float()


def _python(self: Any, x: Tensor) -> Tensor:
    return x * (1 if self.generator.random() < 0.5 else 1.1)


def _torch(self: Any, x: Tensor) -> Tensor:
    return x + 0.01 * torch.randn(16, generator=self.generator)


def _global_numpy(self: Any, x: Tensor) -> Tensor:
    return x + float(OUTSIDE["generator"].normal())


def _all_globals(self: Any, x: Tensor) -> Tensor:
    return x + np.random.rand() + random.random() + torch.rand(())


def _iterator(self: Any, x: Tensor) -> Tensor:
    return x * next(self.numbers)


def _own_input(self: Any, x: Tensor) -> Tensor:
    x += 0.1
    return x * 1.0


def _counted(self: Any, x: Tensor) -> Tensor:
    OUTSIDE["calls"] = OUTSIDE.get("calls", 0) + 1
    return x * (1 + 0.001 * OUTSIDE["calls"])


strange("tensor-attribute-in-place", _in_place, mean=lambda: torch.zeros(16))
strange("attribute-rebound", _rebound, last=lambda: None, calls=lambda: 0)
strange("dict", _dict, seen=dict)
strange("deque", _deque, memory=lambda: deque(maxlen=5))
strange("numpy-generator", _numpy, generator=lambda: np.random.default_rng(3))
strange("numpy-random-state", _numpy, generator=lambda: np.random.RandomState(3))
strange("python-generator", _python, generator=lambda: random.Random(3))
strange("torch-generator", _torch, generator=lambda: torch.Generator().manual_seed(3))
strange("global-numpy-generator", _global_numpy)
strange("global-random-numbers", _all_globals)
strange("iterator", _iterator, numbers=lambda: iter(np.linspace(1, 1.1, 1000).tolist()))
strange("own-input-in-place", _own_input)
strange("global-counter", _counted)


@training
def iterator_of_the_program(watch: Watch) -> None:
    numbers = iter(range(STEPS))

    class Reads(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1 + 0.01 * next(numbers))

    train(around(Reads(16, 16)), watch)


class KeepsItsState(nn.Module):
    """A recurrent state that goes on from batch to batch."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(16, 16)
        self.state: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        before = torch.zeros(len(x), 16) if self.state is None else self.state
        state = self.cell(x, before)
        self.state = state.detach().nan_to_num()
        return state


class MovingAverage(nn.Module):
    """A codebook that follows its inputs, as VQ-VAE has it, counted in buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(16))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.calls += 1
            self.mean.lerp_(x.detach().float().nan_to_num().mean(0), 1.0 / float(self.calls))
        return x - self.mean


TRAININGS["recurrent-state"] = lambda watch: train(around(KeepsItsState()), watch)
TRAININGS["moving-average-buffers"] = lambda watch: train(around(MovingAverage()), watch)


# Ways to call, to train and to build.


class Square(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        Square.calls += 1
        OUTSIDE["squares"] = Square.calls
        ctx.save_for_backward(x)
        return x * x.abs()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 2 * x.abs() * grad


@training
def custom_autograd_function(watch: Watch) -> None:
    Square.calls = 0
    train(around(Strange(lambda self, x: Square.apply(x))), watch)


def checkpointed(reentrant: bool) -> Callable[[Watch], None]:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.3), nn.GELU(), nn.Linear(32, 16))
            self.calls = 0

        def count(self, x: Tensor) -> Tensor:
            self.calls += 1
            return self.inner(x)

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.count, x, use_reentrant=reentrant)

    return lambda watch: train(around(Checkpointed()), watch)


TRAININGS["checkpointing"] = checkpointed(reentrant=False)
TRAININGS["checkpointing-reentrant"] = checkpointed(reentrant=True)


@training
def lazy_layers(watch: Watch) -> None:
    model = nn.Sequential(nn.LazyLinear(16), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(4))
    train(model, watch)


@training
def lbfgs(watch: Watch) -> None:
    model = around(MovingAverage())
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    monitor = watch(model, optimizer)
    for x, y in batches(12, bad=None):

        def closure(x: Tensor = x, y: Tensor = y) -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)
    monitor.close()


@training
def two_optimizers(watch: Watch) -> None:
    model = around(nn.Linear(16, 16))
    optimizers = [torch.optim.SGD(model[:4].parameters(), lr=0.1), torch.optim.Adam(model[4:].parameters())]
    monitor = watch(model, optimizers)
    for x, y in batches(bad=None):
        for each in optimizers:
            each.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for each in optimizers:
            each.step()
    monitor.close()


@training
def frozen_after_watching(watch: Watch) -> None:
    train(around(nn.Linear(16, 16)), watch, after_watch=lambda model: model[0].requires_grad_(False))


@training
def layer_replaced(watch: Watch) -> None:
    def replace(model: Any) -> None:
        model[4] = nn.Linear(16, 16)

    train(around(nn.Linear(16, 16)), watch, after_watch=replace)


@training
def hooks_of_the_users(watch: Watch) -> None:
    model, heard = around(nn.Linear(16, 16)), []
    model[4].register_forward_hook(lambda module, args, output: heard.append(float(output.detach().nan_to_num().sum())))
    model[0].register_forward_pre_hook(lambda module, args: (args[0] + 0.01 * len(heard),))
    OUTSIDE["heard"] = heard
    train(model, watch)


@training
def autocast_to_bfloat16(watch: Watch) -> None:
    model = around(MovingAverage())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    for x, y in batches():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        if loss.isfinite():
            optimizer.step()
    monitor.close()


@training
def scaler_with_float16(watch: Watch) -> None:
    model = around(KeepsItsState())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    monitor = watch(model, optimizer)
    for x, y in batches():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(x).float(), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    monitor.close()


class NextToken(nn.Module):
    """A language model whose forward counts, so that a trial for leaks would show."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True)
        self.noise = np.random.default_rng(5)
        self.memory = torch.zeros(16)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + float(self.noise.normal(0, 0.01))
        self.memory.mul_(0.9).add_(x.detach().mean((0, 1)), alpha=0.1)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.block(x + self.memory, src_mask=mask, is_causal=True))


def next_tokens(compiled: bool) -> Callable[[Watch], None]:
    def run(watch: Watch) -> None:
        model = NextToken()
        called = torch.compile(model, backend="eager") if compiled else model
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        monitor = watch(model, optimizer)
        for _ in range(STEPS):
            tokens = torch.randint(20, (6, 12))
            optimizer.zero_grad()
            F.cross_entropy(called(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
            optimizer.step()
        monitor.close()

    return run


TRAININGS["next-token-with-state"] = next_tokens(compiled=False)
TRAININGS["next-token-with-state-compiled"] = next_tokens(compiled=True)


@training
def watched_again_and_again(watch: Watch) -> None:
    model = around(MovingAverage())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        watch(model, optimizer)
        for x, y in batches(8, bad=None):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
