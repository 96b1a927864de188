"""What checks look at: the user's model, loaders, loss and optimizer, and what several checks need, computed once.

Checks may train and change whatever they like: `rewind` runs after each, and everything is put back at the end.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.hooks.unrecorded import unrecorded
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.vitals.loss_graph import graph_leaves
from bedside.errors import BadOption, BedsideError, NotEnough
from bedside.preflight.torch_calls import LOSSES, Call, FunctionCalls
from bedside.training.batches import map_tensors, named_tensors, rows_in
from bedside.training.forward import TARGETS, Forward, LossFunction
from bedside.training.loader import readable, save_loader
from bedside.training.preserve import Preserved, preserved, uninterrupted
from bedside.training.saved_values import Restore
from bedside.training.shared_state import OutOfReach, save_reachable
from bedside.training.step import Loop, Training, real_optimizer
from bedside.wording import printable

# What a check may need, in the words of whoever reads that it was missing.
LOSS = "a loss that can be computed"
GRADIENT = "a loss with a gradient"
OPTIMIZER = "optimizer="
VALIDATION = "val_loader="
SCHEDULER = "scheduler="
STEPS = "steps="

FETCHED = 8  # batches of each loader: enough for statistics, few enough for a slow loader
SAME_LOSS = 1e-6  # of the loss: a call that returned it computed the whole of it


@dataclass
class FirstLoss:
    """The first batch through the model in training mode: output, loss, the loss functions called, the gradients."""

    batch: Any
    output: Any = None
    loss: Tensor | None = None
    calls: Sequence[Call] = ()
    error: Exception | None = None
    gradients: dict[str, Tensor | None] | None = None  # of the trainable parameters; None where there is no graph
    leaves: Sequence[Tensor] = ()  # tensors that the loss depends on

    @property
    def complaint(self) -> str:
        """What the user's code raised, in one line."""
        lines = str(self.error).splitlines() or [""]
        return printable(f"{type(self.error).__name__}: {lines[0]}")


class Setup:
    """One training before its first step."""

    def __init__(
        self,
        model: nn.Module,
        train_loader: Iterable[Any],
        loss_fn: LossFunction | None = None,
        optimizer: Any = None,
        *,
        val_loader: Iterable[Any] | None = None,
        scheduler: Any = None,
        steps: int | None = None,
        classes: int | None = None,
        depth: str = "fast",
        forward: Forward | None = None,
        loop: Loop | None = None,
    ) -> None:
        self.optimizers = tuple(filter(None, map(real_optimizer, _listed(optimizer))))
        only = self.optimizers[0] if len(self.optimizers) == 1 else None
        self.training = Training(model, train_loader, loss_fn, only, forward, loop or Loop())
        self.model, self.loss, self.optimizer = model, self.training.loss, only
        self.train_loader, self.val_loader = train_loader, val_loader
        self.scheduler, self.steps, self.classes, self.depth = scheduler, steps, classes, depth
        own_loss = loss_fn if isinstance(loss_fn, nn.Module) and loss_fn is not model else None
        self.parts = (*self.optimizers, scheduler, self.training.loop.scheduler, self.training.loop.scaler, own_loss)
        self._functions = [each for each in (loss_fn, forward) if isinstance(each, FunctionType)]
        self._state: Preserved | None = None
        self._validation_restores = save_loader(val_loader)

    @contextmanager
    def opened(self) -> Iterator[Setup]:
        """Everything is saved here and put back at the end; no monitor listens in between."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's own loop will show them; here they would show many times
            with ExitStack() as stack:
                for optimizer in self.optimizers or (None,):
                    stack.enter_context(unrecorded(self.model, optimizer))
                state = stack.enter_context(preserved(self.model, *self.parts, loader=self.train_loader))
                self._state = state
                outside = _saved_outside(self.model, self._functions)
                try:
                    yield self
                finally:
                    with uninterrupted():
                        self._validation_restores()
                        outside()

    def rewind(self) -> None:
        """Everything as the user left it, but for gradients, which are kept aside."""
        if self._state is not None:
            self._state.rewind()
            self._validation_restores()

    def lacks(self, need: str) -> str:
        """Why this need of a check is not met; empty if it is."""
        if need == LOSS:
            return "" if self.first.loss is not None else f"{LOSS} (see PRE101)"
        if need == GRADIENT:
            return "" if self.first.gradients is not None else f"{GRADIENT} (see PRE101)"
        given = {
            OPTIMIZER: self.optimizers,
            VALIDATION: self.val_loader,
            SCHEDULER: self.scheduler,
            STEPS: self.steps,
        }
        return "" if given[need] not in (None, ()) else need

    @cached_property
    def batches(self) -> list[Any]:
        """The first batches of the training loader."""
        return self.training.batches.first(FETCHED)

    @cached_property
    def val_batches(self) -> list[Any]:
        """The first batches of the validation loader."""
        if self.val_loader is None:
            raise NotEnough(VALIDATION)
        found = list(itertools.islice(iter(readable(self.val_loader)), FETCHED))
        if not found:
            raise NotEnough("a val_loader with at least one batch")
        return found

    def batch(self, number: int = 0) -> Any:
        """A copy of one of the first training batches, on the model's device."""
        return self.placed(self.batches[number % len(self.batches)])

    def placed(self, batch: Any) -> Any:
        return self.loss.placed(map_tensors(torch.clone, batch))

    @property
    def rows(self) -> int:
        """Examples in the first batch."""
        return rows_in(self.batches[0])

    @cached_property
    def first(self) -> FirstLoss:
        """The first batch through model and loss, as the training would do it."""
        found = FirstLoss(self.batch())
        self.training.train_mode()
        try:
            with FunctionCalls(LOSSES) as mode, self.training.autocast():
                found.calls = mode.calls
                found.output = self.loss.output(found.batch)
                found.loss = self.loss.loss_of(found.output, found.batch)
            if found.loss.requires_grad:
                self._differentiate(found, found.loss)
        except BedsideError:
            raise
        except Exception as error:
            found.error = error
        self.rewind()
        return found

    def _differentiate(self, found: FirstLoss, loss: Tensor) -> None:
        named = self.trainable
        each = torch.autograd.grad(loss, list(named.values()), allow_unused=True, retain_graph=True) if named else ()
        found.gradients = dict(zip(named, each, strict=True))
        found.leaves = graph_leaves([loss.grad_fn]) or ()

    @property
    def trainable(self) -> dict[str, nn.Parameter]:
        return {plain_name(name): each for name, each in self.model.named_parameters() if each.requires_grad}

    @property
    def loss_call(self) -> Call | None:
        """The one loss function that computed the whole of the first loss; None where the loss is of another make."""
        first = self.first
        calls = [each for each in first.calls if isinstance(each.result, Tensor)]
        if first.loss is None or len(calls) != 1 or calls[0].result.numel() != 1:
            return None
        value, whole = float(calls[0].result), float(first.loss)
        return calls[0] if abs(value - whole) <= SAME_LOSS * max(abs(whole), 1e-12) else None

    def inputs(self, batch: Any) -> list[tuple[str, Tensor]]:
        """The tensors of a batch that are not its targets, with the expression that reaches each."""
        every = list(named_tensors(batch))
        answers = {id(each) for _, each in named_tensors(self.loss.target(batch))}
        named = {at for at, _ in every if any(f"'{name}'" in at or at.endswith(f".{name}") for name in TARGETS)}
        return [(at, each) for at, each in every if id(each) not in answers and at not in named]

    def floating_inputs(self, batch: Any) -> list[tuple[str, Tensor]]:
        return [(at, each) for at, each in self.inputs(batch) if each.is_floating_point() and each.numel()]

    def adam(self, rate: float = 1e-3) -> Optimizer:
        """A fresh optimizer for steps that are taken back."""
        return torch.optim.Adam(list(self.trainable.values()), lr=rate)

    def warm_up(self, steps: int) -> None:
        """A few small steps, so that layers that begin at zero have left it; they are taken back with the rest."""
        self.training.train_mode()
        if not self.trainable:
            return
        optimizer = self.adam()
        for number in range(steps):
            optimizer.zero_grad()
            loss = self.training.batch_loss(self.batch(number))
            if not loss.requires_grad or not torch.isfinite(loss):
                return
            loss.backward()
            optimizer.step()

    def needed_optimizer(self) -> Optimizer:
        if self.optimizer is None:
            raise NotEnough("one optimizer" if self.optimizers else OPTIMIZER)
        return self.optimizer


def _saved_outside(model: nn.Module, functions: Sequence[FunctionType]) -> Restore:
    """What the code of model and loss can change outside of both, as far as that can be put back."""
    try:
        return save_reachable(model, functions)
    except OutOfReach:
        return lambda: None


def _listed(optimizer: Any) -> Sequence[Any]:
    if isinstance(optimizer, dict):
        raise BadOption(
            "optimizer is a dict.",
            expected="an optimizer or a list of them",
            try_="optimizer=list(optimizers.values())",
        )
    return optimizer if isinstance(optimizer, list | tuple) else [optimizer]
