"""Weights that are not trained, and still hold their random initial values.

A frozen layer is either pretrained or a mistake: a `requires_grad_(False)` that was never undone, on weights into which
nothing was loaded. torch's own initialisation can be recognised: weights of linear and convolutional layers fill an
interval evenly to its very ends (one over the root of the inputs), embeddings are independent normal numbers of one
spread. Trained weights no longer have that distribution. Looked at after some steps, because a copy that follows the
model (an EMA, a target network) is frozen too and begins as random as the model does.

A parameter group whose learning rate is zero, or next to nothing beside the others', freezes its layers in the same
way; these are looked at and reported apart.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.stored import stored
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event

FIRST_STEP = 50  # steps: a target network may be brought up to date that seldom
MAX_LOOKS = 3  # the last word counts
MIN_ELEMENTS = 256  # weights of a layer: with fewer, its distribution is unknown
FILLED = 0.97  # of the interval, by the largest of so many weights
SIGMAS = 4.0  # by which the moments of so many normal numbers may be off by chance
EVEN = 0.03  # by which the spread may differ from that of an even or a normal distribution
SLOW = 1e-4  # of the largest learning rate: with layer-wise rates the lowest layer of a deep net still has 1e-3
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding, nn.EmbeddingBag)


class FrozenWeights(Collector):
    """Looks at the frozen layers of a model whose other layers are trained."""

    name = "frozen weights"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._first: dict[str, Tensor] = {}
        self._looked = 0
        self._next = FIRST_STEP
        # Of each look: the step, and by name the size of a layer, and whether a learning rate of nothing freezes it.
        self._waiting: list[tuple[int, dict[str, tuple[int, bool]], PendingValue]] = []
        self._reported: dict[bool, list[str]] = {}

    def detach(self, step: int) -> None:
        if self._looked >= MAX_LOOKS or (self._first and step < self._next):
            return
        frozen = frozen_layers(self.model, hardly_stepped(self.context.optimizers))
        if not self._first:
            self._first = {name: weight.detach().double().sum() for name, weight, _ in frozen}
            self._looked = MAX_LOOKS if not frozen else 0
            return
        self._looked += 1
        self._next = 4 * step
        same = [(name, weight, reach) for name, weight, reach in frozen if name in self._first]
        if same:
            verdicts = [
                is_noise(weight, reach)
                if weight.requires_grad
                else is_untouched(weight, reach) & (weight.detach().double().sum() == self._first[name])
                for name, weight, reach in same
            ]
            numbers = self.queue.put(torch.stack([each.double().cpu() for each in verdicts]))
            layers = {name: (weight.numel(), weight.requires_grad) for name, weight, _ in same}
            self._waiting.append((step, layers, numbers))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, layers, pending in waiting:
            random = [name for name, is_random in zip(layers, pending.numbers, strict=True) if is_random]
            for kind, by_rate in (("frozen_weights", False), ("hardly_stepped_weights", True)):
                names = [name for name in random if layers[name][1] == by_rate]
                if names != self._reported.get(by_rate, []):
                    self._reported[by_rate] = names
                    size = sum(layers[name][0] for name in names)
                    yield Event(step, kind, {"names": [plain_name(name) for name in names], "size": size}, time.time())


def hardly_stepped(optimizers: Iterable[Optimizer]) -> set[int]:
    """The parameters, by id, whose groups all have a learning rate of zero, or next to none beside the largest."""
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    rates = [group.get("lr") for group in groups]
    if any(not isinstance(rate, (int, float)) for rate in rates):  # those in a tensor may wait on a device
        return set()
    least = SLOW * max(rates, default=0.0)
    moved = {id(p) for group, rate in zip(groups, rates, strict=True) if rate > least for p in group["params"]}
    return {id(p) for group in groups for p in group["params"]} - moved if moved else set()


def frozen_layers(model: nn.Module, slow: Collection[int] = ()) -> list[tuple[str, Tensor, float]]:
    """Name, weight and the reach of torch's own initialisation (0 for a normal one) of the layers that are frozen, or
    whose weights are among the `slow` ones."""
    found = []
    for name, module in model.named_modules():
        weight = stored(module, "weight")
        if type(module) not in LAYERS or not isinstance(weight, nn.Parameter):
            continue
        if (not weight.requires_grad or id(weight) in slow) and weight.numel() >= MIN_ELEMENTS:
            reach = 0.0 if isinstance(module, nn.Embedding | nn.EmbeddingBag) else weight[0].numel() ** -0.5
            found.append((name, weight, reach))
    return found


def is_noise(weight: Tensor, reach: float) -> Tensor:
    """Whether the weights are as torch initialises them, or independent normal or even numbers of any one spread."""
    table = weight.detach().double().flatten(1)
    even = (table.abs().amax() / (3**0.5 * table.std().clamp(min=1e-30)) - 1).abs() < EVEN
    return is_untouched(weight, reach) | is_plain_noise(table) | even


def is_plain_noise(table: Tensor) -> Tensor:
    """Whether a table holds independent normal numbers of one spread, whatever that is: the dimensions of a trained
    embedding differ in mean and spread, and its numbers have long tails."""
    rows, columns = table.shape
    spread = table.std().clamp(min=1e-30)
    fourth = ((table - table.mean()) / spread).pow(4).mean()
    is_normal = (fourth - 3).abs() < SIGMAS * (24 / table.numel()) ** 0.5
    is_centred = (table.mean(0) / spread).pow(2).mean() < (1 + SIGMAS * (2 / columns) ** 0.5) / rows
    apart = (table.var(0) / spread.square() - 1).pow(2).mean()
    is_even = apart < (1 + SIGMAS * (2 / columns) ** 0.5) * 2 / (rows - 1)
    return is_normal & is_centred & is_even


def is_untouched(weight: Tensor, reach: float) -> Tensor:
    """Whether the weights are distributed as torch initialises them.

    >>> import torch
    >>> layer = nn.Linear(64, 64)
    >>> bool(is_untouched(layer.weight, 64**-0.5)), bool(is_untouched(2 * layer.weight, 64**-0.5))
    (True, False)
    """
    values = weight.detach().flatten().double()
    if reach == 0.0:
        return is_plain_noise(weight.detach().double())
    largest, spread = values.abs().amax(), values.std() * 3**0.5
    return (largest <= reach * (1 + 1e-6)) & (largest >= FILLED * reach) & ((spread / reach - 1).abs() < 2 * EVEN)
