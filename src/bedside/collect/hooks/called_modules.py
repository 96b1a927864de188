"""The modules that the user calls: what each call was given, and how many calls a usual step has.

Some models are not called at the root: a LightningModule calls its network, a GAN its two halves. Then all modules are
observed for one step, to find the ones that really are called from outside.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch._dynamo.eval_frame import OptimizedModule

from bedside.collect.hooks.call_slot import SLOT, CallSlot, is_compiling, is_tracing, is_transformed, leave, stand
from bedside.collect.model.parameter_layout import WRAPPERS
from bedside.errors import is_interrupt

Begins = Callable[["CalledModule", Any, Any], bool]  # whether the call is the training's
Ended = Callable[["CalledModule", Any], None]


class Forward:
    """One forward pass as it came in: the module (inside its wrappers), its arguments, and the modes at that moment."""

    __slots__ = ("args", "autocast", "grad", "kwargs", "module", "training", "validating")

    def __init__(self, called: CalledModule, args: Any, kwargs: Any, *, grad: bool, validating: bool) -> None:
        self.module = called.core
        self.args = args
        self.kwargs = kwargs
        self.grad = grad
        self.validating = validating
        self.training = called.core.training
        self.autocast = autocast_now()


class CalledModule(CallSlot):
    """A module that the user calls. At fast-path steps usual training forwards are only counted, and the arguments of
    the last one are kept."""

    def __init__(self, module: nn.Module, begins: Begins, ended: Ended) -> None:
        super().__init__(module)
        self.core = unwrapped(module)
        self.args: Any = None
        self.kwargs: Any = None
        self.autocast: Any = ()  # of the last training forward that was reported
        self.usual: bool | None = None  # at fast-path steps: the mode of a training forward, which is not reported
        self.skipped = 0  # forwards of this step that were not reported
        self.counted = 0  # training forwards of this step that were
        self.usual_count = 0  # the fewest in any step: more than that make the step an unusual one
        self.thread = 0  # that trains, at fast-path steps
        self.observers: list[Callable[[nn.Module, Any], None]] = []  # of the output of the call under way
        self._begins, self._ended = begins, ended

    def open(self) -> None:
        """Observe calls from here on. Not in the constructor: an interrupt would leave a slot that nobody could
        close."""
        stand(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or is_tracing() or is_transformed():
            return self.call(args, kwargs)
        if (
            self.usual is self.core.training
            and self.skipped < self.usual_count
            and torch.is_grad_enabled()
            and get_ident() == self.thread
        ):
            self.skipped += 1
            self.args = args
            self.kwargs = kwargs
            return self.call(args, kwargs)
        output, gradients = None, torch.is_grad_enabled()
        try:
            try:
                ours = self._begins(self, args, kwargs)
                output = self.call(args, kwargs)
                for observe in self.observers if ours else ():
                    observe(self.module, output)
                return output
            finally:
                self._ended(self, output)
        except BaseException as error:
            if is_interrupt(error):  # it may have come where a block of ours without gradients is left
                torch.set_grad_enabled(gradients)
            raise

    def enter_fast_path(self, usual: bool | None, thread: int) -> None:
        """Given the mode of a training forward and the thread it runs in."""
        self.usual, self.thread = usual, thread

    def leave_fast_path(self) -> None:
        self.usual = None

    def close(self) -> None:
        leave(self)

    def forget(self) -> None:
        self.args = self.kwargs = None
        self.skipped = 0


class Search:
    """For one step, the calls of every module are observed; those that no other module called are the ones that the
    user calls."""

    def __init__(self, model: nn.Module) -> None:
        self.found: dict[int, nn.Module] = {}
        self.depth = 0
        self._slots = [_SearchSlot(module, self) for module in model.modules()]

    def start(self) -> None:
        for slot in self._slots:
            stand(slot)

    def stop(self) -> None:
        for slot in self._slots:
            leave(slot)


class _SearchSlot(CallSlot):
    def __init__(self, module: nn.Module, search: Search) -> None:
        super().__init__(module)
        self._search = search

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or is_tracing():
            return self.call(args, kwargs)
        search = self._search
        if search.depth == 0:
            search.found[id(self.module)] = self.module
        try:
            search.depth += 1
            return self.call(args, kwargs)
        finally:
            search.depth -= 1


def unwrapped(module: nn.Module) -> nn.Module:
    """The module inside DDP, torch.compile and their like."""
    while True:
        inner = next((module._modules[name] for name in WRAPPERS if name in module._modules), None)
        if inner is None or len(module._modules) != 1:
            return module
        module = inner


def is_compiled(module: nn.Module) -> bool:
    call = module.__dict__.get(SLOT)
    while isinstance(call, CallSlot):
        call = call.next
    return isinstance(module, OptimizedModule) or call is not None


def compiled_wrappers(model: nn.Module) -> list[nn.Module]:
    """`torch.compile(model)` that was called before watching began leaves no mark on the model itself."""
    return [o for o in gc.get_objects() if type(o) is OptimizedModule and o._modules.get("_orig_mod") is model]


def autocast_now() -> tuple[tuple[str, torch.dtype], ...]:
    """The active autocast regions: device type and dtype."""
    return tuple((kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind))
