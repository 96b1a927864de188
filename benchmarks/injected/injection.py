"""How a fault gets into a program that knows nothing of it: patches that are undone, and what is done at `watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

TRIED = 12  # optimizer steps after which a fault that could not act is given up

# Symptoms that come with many faults; each operator names those that its own fault brings about.
NEVER_LEARNED = (
    "stuck-from-start",
    "loss-at-chance",
    "underfitting",
    "stalled-loss",
    "constant-loss",
    "worse-than-guess",
    "nothing-generalises",
)
BLEW_UP = (
    "diverging-loss",
    "nonfinite-loss",
    "nonfinite-weights",
    "nonfinite-gradient",
    "nonfinite-activation",
    "exploding-gradient",
    "oscillating-loss",
    "lost-progress",
    "runaway-weights",
    "late-overshoot",
    "loss-spike",
)
NOT_ON_NEW_DATA = (
    "nothing-generalises",
    "gap-from-start",
    "overfitting",
    "overconfident",
    "worse-than-guess",
    "erratic-validation",
    "loss-without-accuracy",
)


class NotApplicable(BaseException):
    """The program has no place for this fault. Not an Exception: no program may catch it."""


class Injection:
    """One fault in one program: what it patched, and whether it could do anything."""

    def __init__(self, steps: int) -> None:
        self.steps = steps  # of the healthy run
        self.step = 0
        self.acted = 0  # times the fault changed something
        self.due = 1  # the step from which on it acts
        self.watching = False
        self._undo: list[Callable[[], None]] = []
        self._watched: list[Callable[[nn.Module, list[Optimizer]], None]] = []
        self._each_step: list[Callable[[Optimizer], None]] = []

    def patch(self, home: Any, name: str, made: Callable[[Any], Any]) -> None:
        """Replace a function by what `made` makes of it, until the program is over."""
        original = vars(home).get(name, getattr(home, name))
        setattr(home, name, made(original))
        self._undo.append(lambda: setattr(home, name, original))

    def at_watch(self, do: Callable[[nn.Module, list[Optimizer]], None]) -> None:
        """What is done to the model and its optimizers in the moment in which they are watched."""
        self._watched.append(do)

    def before_step(self, do: Callable[[Optimizer], None]) -> None:
        """What is done before each optimizer step, at every call of it from the watched ones."""
        self._each_step.append(do)

    def undo(self) -> None:
        for each in reversed(self._undo):
            each()

    def watch(self, model: Any, optimizer: Any) -> None:
        """Called in place of the program's line, before bedside is."""
        optimizers = [optimizer] if isinstance(optimizer, Optimizer) else list(optimizer or ())
        modules = (
            [model] if isinstance(model, nn.Module) else [*model.values()] if isinstance(model, dict) else [*model]
        )
        if not optimizers or not modules:
            raise NotApplicable
        self.watching = True
        for module in modules:
            for do in self._watched:
                do(module, optimizers)
        optimizers[0].register_step_pre_hook(self._count)
        for each in optimizers:
            each.register_step_pre_hook(lambda optimizer, args, kwargs: self._before(optimizer))

    def at_share(self, share: float) -> int:
        """The step at that share of the run."""
        self.due = max(2, int(share * self.steps))
        return self.due

    def _count(self, *_: Any) -> None:
        self.step += 1
        if not self.acted and self.step >= self.due + TRIED:
            raise NotApplicable

    def _before(self, optimizer: Optimizer) -> None:
        for do in self._each_step:
            do(optimizer)


@dataclass(frozen=True)
class Operator:
    """A fault: how it is put in, and what would be right to say of it."""

    inject: Callable[[Injection], None]
    exact: tuple[str, ...]
    also: tuple[str, ...]
    same_loss: bool  # whether its losses are those of the healthy program, so that they may be compared

    @property
    def what(self) -> str:
        return (self.inject.__doc__ or "").split("\n")[0]


def operator(
    *exact: str, also: tuple[str, ...] = (), same_loss: bool = True
) -> Callable[[Callable[[Injection], None]], Operator]:
    return lambda inject: Operator(inject, exact, also, same_loss)


@contextmanager
def injected(name: str, steps: int) -> Iterator[Injection]:
    """The fault is in torch inside this block, and gone after it."""
    from injected import OPERATORS

    injection = Injection(steps)
    try:
        OPERATORS[name].inject(injection)
        yield injection
    finally:
        injection.undo()


# Places that several operators use.


def calls(injection: Injection, change: Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]) -> None:
    """Change what the model is called with. Not by a hook: bedside would see what was given before it."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        usual = type(model)

        def called(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return usual.__call__(self, *change(self, args), **kwargs)

        model.__class__ = type(usual.__name__, (usual,), {"__call__": called, "__module__": usual.__module__})

    injection.at_watch(put)


def inputs(
    injection: Injection,
    change: Callable[[torch.Tensor], torch.Tensor],
    when: Callable[[nn.Module], bool] = lambda model: True,
    integers: bool = False,
) -> None:
    """Change the first tensor that the model is called with, where it is of real numbers."""

    def changed(model: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not args or not isinstance(args[0], torch.Tensor) or not when(model):
            return args
        if not (args[0].is_floating_point() or integers):
            return args
        injection.acted += 1
        return (change(args[0]), *args[1:])

    calls(injection, changed)


def answers(module: nn.Module, change: Callable[[Any], Any]) -> None:
    """Change what a module answers, as another last line of its forward would. A hook would be seen as one."""
    usual = type(module)

    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return change(usual.forward(self, *args, **kwargs))

    module.__class__ = type(usual.__name__, (usual,), {"forward": forward, "__module__": usual.__module__})


def training(model: nn.Module) -> bool:
    return torch.is_grad_enabled()


def evaluating(model: nn.Module) -> bool:
    return not torch.is_grad_enabled() and not model.training


def targets(
    injection: Injection,
    names: tuple[str, ...],
    change: Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None],
) -> None:
    """Change the targets that these loss functions are given while gradients are on; None leaves them as they are."""

    def made(original: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled() and injection.watching:
                other = change(input, target)
                if other is not None:
                    injection.acted += 1
                    target = other
            return original(input, target, *args, **kwargs)

        return loss

    for name in names:
        injection.patch(torch.nn.functional, name, made)


def leaves(model: nn.Module) -> list[nn.Module]:
    """Modules with weights of their own, in the order in which they are kept."""
    return [each for each in model.modules() if next(each.parameters(recurse=False), None) is not None]


def matrices(model: nn.Module) -> list[nn.Parameter]:
    return [each for each in model.parameters() if each.dim() >= 2]
