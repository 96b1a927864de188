"""Use a training and leave it as it was: everything is saved on entry and put back on exit, whatever happens.

    with preserved(model, optimizer, loader=loader) as state:
        ...                # train, perturb, evaluate
        state.rewind()     # back to the beginning, as often as wanted
        ...

Saved are weights, buffers and attributes of the model, its train and eval modes, gradients, the optimizer's moments
and groups, schedulers, scaler, all random numbers and the loader's position. Restoring is bitwise, happens on
exceptions and Ctrl-C as well, and a second Ctrl-C waits until it is done.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from bedside.errors import BadModel
from bedside.training.loader import save_loader
from bedside.training.random_state import save_random_state
from bedside.training.saved_values import Memo, Restore, save


class Preserved:
    """What was saved, and the way back to it."""

    def __init__(self, model: nn.Module, *others: Any, loader: Any = None) -> None:
        _refuse_lazy(model)
        memo: Memo = {}
        parts: list[Restore] = [save(each, memo) for each in (model, *others) if each is not None]
        self._restores = [*parts, save_loader(loader), save_random_state()]  # last: reading a loader draws numbers
        optimized = [group["params"] for each in others if hasattr(each, "param_groups") for group in each.param_groups]
        tensors = {id(each): each for group in [list(model.parameters()), *optimized] for each in group}
        self._gradients: list[tuple[Tensor, Tensor | None]] = [(each, each.grad) for each in tensors.values()]

    def rewind(self) -> None:
        """Everything as it was on entry, without gradients: the user's own are kept aside until the end."""
        with uninterrupted():
            for restore in self._restores:
                restore()
            self.clear_gradients()

    def clear_gradients(self) -> None:
        for tensor, _ in self._gradients:
            tensor.grad = None

    def put_back(self) -> None:
        """Everything as it was on entry, gradients included."""
        with uninterrupted():
            for restore in self._restores:
                restore()
            for tensor, gradient in self._gradients:
                tensor.grad = gradient


@contextmanager
def preserved(model: nn.Module, *others: Any, loader: Any = None) -> Iterator[Preserved]:
    """Saves the model, the `others` (optimizers, schedulers, a scaler) and the loader's position for this block."""
    state = Preserved(model, *others, loader=loader)
    try:
        state.clear_gradients()
        yield state
    finally:
        state.put_back()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is over: half a state put back would be worse than none."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if before is None:  # another thread, which is never interrupted, or a handler that Python did not set
        yield
        return
    pressed: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *args: pressed.append(args))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(*pressed[0])


def _refuse_lazy(model: nn.Module) -> None:
    named: Sequence[str] = [name for name, each in model.named_parameters() if is_lazy(each)]
    if named:
        raise BadModel(
            f"{type(model).__name__} has parameters without a shape yet: {', '.join(named[:3])}.",
            expected="a model that has seen one batch, so that its lazy layers are built",
            try_="model(next(iter(loader))[0]) once before",
        )
