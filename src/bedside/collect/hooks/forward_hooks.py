"""The model's door: every forward pass comes in here, and sampled ones are listened to from here until they leave.

One hook, on the outermost module that the user calls, is all that stays on between samples. When a sampled training
forward comes in, collectors put their hooks on and replace functions; when it leaves (or fails) all of that is gone
again. So nothing outside the forward pass ever meets a replaced function, and the recomputation of activation
checkpointing, which runs in the backward pass, is never counted.

Some models are not called at the root: a LightningModule calls its network, a GAN its two halves. Then the modules
that really are called from outside are found by listening to all of them for one step.

A compiled model cannot be listened to from inside: hooks that are added after compilation never fire, and hooks
compiled in would change the graph. It is listened to beside the training: the same batch once more through the
uncompiled model, on sampled steps, with everything put back (`rehearsal.py`).
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch._dynamo.eval_frame import OptimizedModule

from bedside.collect.hooks.silent_rerun import rehearse
from bedside.collect.model.parameter_layout import WRAPPERS

if TYPE_CHECKING:
    from bedside.collect.collector import Collector

is_compiling = torch.compiler.is_compiling
CALL = "_compiled_call_impl"  # what nn.Module calls instead of itself; left out when a module is copied or saved
PATIENCE = 2  # steps without a forward before other doors are looked for: the first may come from a restored graph


class Forward:
    """One forward pass as it came in: the module (inside its wrappers), its arguments, and the modes of the moment."""

    __slots__ = ("args", "autocast", "grad", "kwargs", "module", "training", "validating")

    def __init__(self, entry: Entry, args: Any, kwargs: Any, *, grad: bool, validating: bool) -> None:
        self.module = entry.core
        self.args = args
        self.kwargs = kwargs
        self.grad = grad
        self.validating = validating
        self.training = entry.core.training
        self.autocast = autocast_now()


class Hook:
    """A hook that does not travel: copies of the model (an EMA, a checkpoint of the whole model) get a silent one."""

    def __init__(self, call: Callable[..., None]) -> None:
        self.call = call

    def __call__(self, *args: Any) -> None:
        self.call(*args)

    def __deepcopy__(self, memo: Any) -> Any:
        return contextlib.nullcontext().__exit__

    def __reduce__(self) -> Any:
        # A pickled model must not need bedside to be loaded, and this takes any arguments and does nothing.
        return getattr, (contextlib.nullcontext(), "__exit__")


class Entry(Hook):
    """A module that the user calls; what it was called with is kept where nobody could be told: in the graph of a
    compiled call, and at quiet steps, where usual training forwards are only counted."""

    def __init__(self, module: nn.Module, entered: Callable[[Entry, Any, Any], None], wake: Callable[[], None]) -> None:
        self.module = module
        self.core = unwrapped(module)
        self.entered = entered
        self.traced = False
        self.args: Any = None
        self.kwargs: Any = None
        self.grad = True
        self.autocast: Any = ()  # of the last training forward that was told
        self.usual: bool | None = None  # at quiet steps: the mode of a training forward, which is not told
        self.missed = 0  # forwards of this step that were not told
        self.seen = 0  # training forwards of this step that were
        self.most = 0  # the least there were in a step: more than that are no usual step's
        self._wake = wake
        self._replicated = False  # a copy of the module is what is called
        self._handle: Any = module.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if is_compiling():  # what is said here becomes part of the graph, so it says no more than this
            self.traced = True
            self.args = args
            self.kwargs = kwargs
            self.grad = torch.is_grad_enabled()
            return
        if self.usual is self.core.training and self.missed < self.most and torch.is_grad_enabled():
            self.missed += 1
            self.args = args
            self.kwargs = kwargs
            return
        self._replicated |= module is not self.module
        self.entered(self, args, kwargs)

    def rest(self, usual: bool | None) -> None:
        """Quiet steps follow; this is the mode of a training forward. A hook would send every call of the module down
        torch's long way, ten microseconds at a step of one millisecond; its place for a compiled call does not, and
        does not travel with copies of the model."""
        self.usual = usual
        plain = type(self.module).__call__ is nn.Module.__call__ and not is_compiled(self.module)
        if plain and self.most and not self.traced and not self._replicated:
            self._handle.remove()
            self.module.__dict__[CALL] = self._pass

    def wake(self) -> None:
        self.usual = None
        if self.module.__dict__.get(CALL) == self._pass:
            del self.module.__dict__[CALL]
            self._handle = self.module.register_forward_pre_hook(self, with_kwargs=True)

    def close(self) -> None:
        self.wake()
        self._handle.remove()

    def _pass(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the module at a quiet step."""
        if not is_compiling():
            if self.usual is self.core.training and self.missed < self.most and torch.is_grad_enabled():
                self.missed += 1
                self.args = args
                self.kwargs = kwargs
            else:
                self._wake()  # and the hook hears it
        return self.module._call_impl(*args, **kwargs)

    def forget(self) -> None:
        self.args = self.kwargs = None
        self.missed = 0


class Door:
    """Hears every forward of the model; lets collectors listen to the training forwards of a sampled step."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.validating = False
        self.spent = 0.0  # seconds at the door, since the governor last looked
        self.last: Forward | None = None  # the forward that the next backward belongs to; dropped after the step
        self.training_mode: bool | None = None  # the mode training forwards usually have, once known
        self.compiled = any(is_compiled(module) for module in model.modules())
        self.blind = False  # steps go by, but no forward is ever heard
        self.begun: Callable[[Forward], None] = lambda forward: None  # the monitor's ear
        self._woken: Callable[[], None] = lambda: None
        self._failed: Callable[[Collector, Exception], None] = lambda collector, error: None
        self._entries: list[Entry] = []
        self._leaving: Any = None
        self._expecting: list[Collector] = []
        self._inside: list[Collector] = []
        self._listened: set[int] = set()  # entries that have been listened to in this step
        self._heard = False
        self._silent_steps = 0
        self._searching: list[Any] = []
        self._rehearsing = False

    def open(
        self,
        begun: Callable[[Forward], None],
        wake: Callable[[], None],
        failed: Callable[[Collector, Exception], None],
    ) -> None:
        self.begun, self._woken, self._failed = begun, wake, failed
        self._enter_by([self.model])

    def close(self) -> None:
        self._left()
        for entry in self._entries:
            entry.close()
        for handle in self._searching:
            handle.remove()
        self._entries, self._searching, self._expecting, self.last = [], [], [], None

    def expect(self, collectors: Sequence[Collector]) -> None:
        """These listen to the next training forward of each entry."""
        self._expecting = list(collectors)
        self._listened = set()

    # What the monitor tells it.

    def before_backward(self) -> None:
        """The forward is over and its weights are still the same: a compiled model is listened to now."""
        for entry in self._entries:
            if entry.traced and entry.args is not None:
                self.compiled = self._heard = True
                self.last = Forward(entry, entry.args, entry.kwargs, grad=entry.grad, validating=self.validating)
                entry.args = entry.kwargs = None
                self.begun(self.last)
        if self.compiled and self._expecting and self.last is not None and self._counts(self.last):
            self._let_in(self.last)
            try:
                self.rehearse(self.last)
            finally:
                self._left()

    def after_backward(self, ours: bool) -> None:
        if ours and self.last is not None and self.last.grad:
            self.training_mode = self.last.training

    def rest(self) -> Sequence[Entry]:
        """Quiet steps follow: training forwards are only counted. Returns the entries, which keep what came in."""
        for entry in self._entries:
            entry.rest(self.training_mode)
        return self._entries

    def wake(self) -> list[Forward]:
        """Tell all forwards again; returns those of this step that were not told."""
        missed: list[Forward] = []
        for entry in self._entries:
            entry.wake()
            count = entry.missed or int(entry.traced and entry.args is not None)
            if count:
                forward = Forward(entry, entry.args, entry.kwargs, grad=True, validating=False)
                forward.autocast = entry.autocast
                missed += [forward] * count
                self.last, self._heard = forward, True
            entry.forget()
        return missed

    @property
    def restful(self) -> bool:
        """Whether it is known what a usual forward is."""
        return not self._searching and (self.training_mode is not None or self.blind or not self._entries)

    def step_ended(self) -> None:
        """Lets go of the batch, and looks for other doors when nobody came through this one."""
        if not self._entries:
            return
        self.last = None
        for entry in self._entries:
            if entry.seen:
                entry.most, entry.seen = min(entry.most or entry.seen, entry.seen), 0
        if self._searching:
            self._found_entries()
        elif self._heard:
            self._silent_steps = 0
        elif not self.blind:
            self._silent_steps += 1
            if self._silent_steps >= PATIENCE:
                self._search()
        self._heard = False

    def rehearse(self, forward: Forward, numbers: Mapping[nn.Module, Mapping[str, Any]] | None = None) -> Any:
        """The same forward once more, uncompiled, without a trace."""
        self._rehearsing = True
        try:
            return rehearse(forward.module, forward.args, forward.kwargs, forward.autocast, numbers)
        finally:
            self._rehearsing = False

    # What the hooks do.

    def _enter_by(self, entries: Sequence[nn.Module]) -> None:
        for entry in self._entries:
            entry.close()
        self._entries = [Entry(module, self._entered, self._woken) for module in entries]

    def _entered(self, entry: Entry, args: Any, kwargs: Any) -> None:
        if self._rehearsing:
            return
        began = time.perf_counter()
        self._heard = True
        forward = Forward(entry, args, kwargs, grad=torch.is_grad_enabled(), validating=self.validating)
        if forward.grad and forward.training == self.training_mode:
            entry.seen += 1
            entry.autocast = forward.autocast
        self.begun(forward)
        self.last = forward
        self.spent += time.perf_counter() - began
        if self._expecting and not self.compiled and self._counts(forward):
            self._let_in(forward)
            if self._inside:
                self._leaving = entry.module.register_forward_hook(Hook(self._left), always_call=True)

    def _counts(self, forward: Forward) -> bool:
        """Whether this is a training forward (as far as that can be known before its backward), and the entry's
        first of the step: micro-batches are alike, so one of them is enough."""
        usual = self.training_mode is None or forward.training == self.training_mode
        return forward.grad and usual and not forward.validating and id(forward.module) not in self._listened

    def _let_in(self, forward: Forward) -> None:
        self._listened.add(id(forward.module))
        for collector in self._expecting:
            try:
                if collector.reads(forward):
                    self._inside.append(collector)
            except Exception as error:
                self._inside.append(collector)
                self._failed(collector, error)

    def _left(self, *_: Any) -> None:
        if self._leaving is not None:
            self._leaving.remove()
            self._leaving = None
        inside, self._inside = self._inside, []
        for collector in reversed(inside):
            try:
                collector.read()
            except Exception as error:
                self._failed(collector, error)

    # Models that are called elsewhere than at the root.

    def _search(self) -> None:
        """For one step, everybody says when they are called; whom nobody of ours called is an entry."""
        wrappers = _compiled_wrappers(self.model)
        if wrappers:
            self.compiled = True
            self._enter_by(wrappers)
            self._silent_steps = 0
            return
        self._depth = 0
        self._outermost: dict[int, nn.Module] = {}

        def enter(module: nn.Module, args: Any) -> None:
            if is_compiling():
                return
            if self._depth == 0:
                self._outermost[id(module)] = module
            self._depth += 1

        def leave(module: nn.Module, args: Any, output: Any) -> None:
            if not is_compiling():
                self._depth -= 1

        self._searching = [
            handle
            for module in self.model.modules()
            for handle in (
                module.register_forward_pre_hook(Hook(enter)),
                module.register_forward_hook(Hook(leave), always_call=True),
            )
        ]

    def _found_entries(self) -> None:
        for handle in self._searching:
            handle.remove()
        self._searching = []
        self._silent_steps = 0
        if self._outermost:
            self._enter_by(list(self._outermost.values()))
        else:
            self.blind = True


def unwrapped(module: nn.Module) -> nn.Module:
    """The module inside DDP, torch.compile and their like."""
    while True:
        inner = next((module._modules[name] for name in WRAPPERS if name in module._modules), None)
        if inner is None or len(module._modules) != 1:
            return module
        module = inner


def is_compiled(module: nn.Module) -> bool:
    call = getattr(module, CALL, None)
    return isinstance(module, OptimizedModule) or not (call is None or isinstance(getattr(call, "__self__", 0), Entry))


def autocast_now() -> tuple[tuple[str, torch.dtype], ...]:
    """The autocast regions we are in: device type and dtype."""
    return tuple((kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind))


def _compiled_wrappers(model: nn.Module) -> list[nn.Module]:
    """`torch.compile(model)` that was called before watching began leaves no mark on the model itself."""
    return [o for o in gc.get_objects() if type(o) is OptimizedModule and o._modules.get("_orig_mod") is model]
