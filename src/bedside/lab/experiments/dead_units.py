"""Units that never fire over a whole loader, each with its index: capacity that is paid for and not used.

Looks at every non-linearity with a dead side (ReLU and its kin), as a module or as a function call inside one, and at
saturating ones (sigmoid, tanh). A unit is a channel of an image (dimension 1 of 3 or more) or the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bedside.collect.model.nonlinearities import KINDS, Kind, Numbered, call_name
from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.lab.recording import experiment
from bedside.lab.session import session
from bedside.training.batches import rows_in
from bedside.training.forward import Forward
from bedside.wording import count, listed, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Limits:
    """When a unit or a layer is in trouble."""

    rarely: float = 0.01  # of the examples: a unit that fires less often hardly learns
    many_dead: float = 0.4  # of a layer's units: more than this is worth acting on (published guidance for ReLU nets)


@dataclass(frozen=True)
class LayerUnits:
    """The units of one non-linearity."""

    name: str
    kind: str
    units: int
    dead: tuple[int, ...]  # never above zero, over all examples
    rare: tuple[int, ...]  # in fewer than one of a hundred
    saturated: tuple[int, ...]  # in their flat part over all examples
    activity: tuple[float, ...]  # per unit: share of positions at which it fires
    fed_by: str  # the last module with parameters before it, whose outputs these units are

    @property
    def share(self) -> float:
        return len(self.dead or self.saturated) / self.units


@dataclass(frozen=True)
class DeadUnits(Result):
    """Layer by layer, which units are dead; true if there are any."""

    experiment = "dead_units"
    layers: tuple[LayerUnits, ...]
    examples: int

    def __bool__(self) -> bool:
        return any(layer.dead or layer.saturated for layer in self.layers)

    @property
    def worst(self) -> LayerUnits:
        return max(self.layers, key=lambda layer: layer.share)

    def lines(self) -> Iterator[str]:
        units = sum(layer.units for layer in self.layers)
        dead = sum(len(layer.dead) for layer in self.layers)
        stuck = sum(len(layer.saturated) for layer in self.layers)
        text = f"{count(dead)} of {count(units)} units never fire over {count(self.examples)} examples"
        yield text + (f", {count(stuck)} are saturated throughout." if stuck else ".")
        width = max(len(layer.name) for layer in self.layers)
        for layer in self.layers:
            which = layer.dead or layer.saturated
            what = "dead" if layer.dead or not layer.saturated else "saturated"
            rare = f", {len(layer.rare)} rarely fire" if layer.rare else ""
            units_ = f": units {listed(map(str, which), 12)}" if which else ""
            text = f"{len(which):>4} of {layer.units:<5} {what} ({percent(layer.share)})"
            yield f"  {layer.name:<{width}}  {text}{rare}{units_}"
        if self.worst.share > Limits.many_dead:
            yield f"  Try: lab.trial, which re-initialises dead units; a lower rate; LeakyReLU in {self.worst.name}."

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        for place, layer in enumerate(self.layers):
            ax.plot(sorted(layer.activity), label=f"{layer.name} ({number(100 * layer.share, 2)} % dead)")
            if place == 9:
                break
        ax.set(xlabel="unit, sorted", ylabel="share of examples at which it fires", title="How often units fire")
        ax.legend(fontsize=8)


@experiment
def dead_units(
    model: nn.Module, loader: Iterable[Any], *, batches: int = 16, forward: Forward | None = None
) -> DeadUnits:
    """Run up to `batches` batches through the model in evaluation mode and count what each unit does."""
    counters: dict[str, _Counter] = {}
    with session(model, loader, _no_loss, forward=forward) as at, torch.no_grad():
        model.eval()
        seen = 0
        for batch in at.training.batches.first(batches):
            placed = at.training.loss.placed(batch)
            with _Calls(model, counters):
                at.training.loss.output(placed)
            seen += rows_in(placed)
    if not counters:
        raise BadOption(
            f"{type(model).__name__} calls no non-linearity that can die or saturate.",
            expected=f"one of {', '.join(sorted({kind.name for kind in KINDS.values()} - {'softmax'}))}",
            try_="print(model)",
        )
    return DeadUnits(tuple(each.described(name) for name, each in counters.items()), seen)


def _no_loss(output: Any, batch: Any) -> Tensor:
    return torch.zeros(())


class _Counter:
    """Positions seen, at which each unit fired, and at which it was saturated."""

    def __init__(self, kind: Kind, fed_by: str) -> None:
        self.kind, self.fed_by = kind, fed_by
        self.seen = 0
        self.fired: Tensor | None = None
        self.flat: Tensor | None = None

    def add(self, output: Tensor) -> None:
        by_unit = output.detach().movedim(1 if output.ndim >= 4 else -1, -1).flatten(0, -2)
        fired = (by_unit > 0).sum(0) if self.kind.dies else (by_unit != 0).sum(0)
        flat = self.kind.saturated(by_unit).sum(0) if self.kind.saturates else torch.zeros_like(fired)
        if self.fired is not None and self.fired.shape != fired.shape:
            return  # another width at the next batch: these are not units
        self.fired = fired if self.fired is None else self.fired + fired
        self.flat = flat if self.flat is None else self.flat + flat
        self.seen += by_unit.shape[0]

    def described(self, name: str) -> LayerUnits:
        assert self.fired is not None
        assert self.flat is not None
        share = (self.fired / max(1, self.seen)).tolist()
        dead = tuple(unit for unit, each in enumerate(share) if each == 0 and self.kind.dies)
        rare = tuple(unit for unit, each in enumerate(share) if 0 < each < Limits.rarely and self.kind.dies)
        flat = tuple(torch.nonzero(self.flat == self.seen).flatten().tolist()) if self.kind.saturates else ()
        return LayerUnits(name, self.kind.name, len(share), dead, rare, flat, tuple(share), self.fed_by)


class _Calls(TorchFunctionMode):  # type: ignore[misc]  # torch is not followed by the type checker
    """Sees every call of a non-linearity and knows which module it happens in."""

    def __init__(self, model: nn.Module, counters: dict[str, _Counter]) -> None:
        super().__init__()
        self._model, self._counters = model, counters
        self._inside: list[tuple[nn.Module, str]] = []
        self._number = Numbered()
        self._last = ""  # module with parameters that has ended
        self._depth = 0
        self._cleanup = ExitStack()

    def __enter__(self) -> _Calls:
        for name, module in self._model.named_modules():
            enter = module.register_forward_pre_hook(self._entering(module, name))
            leave = module.register_forward_hook(self._leaving(module, name), always_call=True)
            self._cleanup.callback(enter.remove)
            self._cleanup.callback(leave.remove)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._cleanup.close()
        super().__exit__(*error)

    def _entering(self, module: nn.Module, name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            self._inside.append((module, name))

        return hook

    def _leaving(self, module: nn.Module, name: str) -> Callable[..., None]:
        has_parameters = any(True for _ in module.parameters(recurse=False))

        def hook(*_: Any) -> None:
            self._inside.pop()
            if has_parameters:
                self._last = name

        return hook

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", "")
        self._depth += 1
        try:
            output = function(*args, **(kwargs or {}))
        finally:
            self._depth -= 1
        kind = KINDS.get(name)
        if kind is None or kind.name == "softmax" or not isinstance(output, Tensor) or self._depth:
            return output
        module, path = self._inside[-1] if self._inside else (None, "")
        if output.ndim > 1 and (known := self._number(call_name(module, path, name))) is not None:
            self._counters.setdefault(known, _Counter(kind, self._last)).add(output)
        return output
