"""The hooks on the model's forward pass: all forwards are seen, sampled ones are observed until they return.

One hook, on the outermost module that the user calls, is all that stays on between samples. When a sampled training
forward comes in, collectors put their hooks on and replace functions; when it leaves (or fails) all of that is gone
again. So nothing outside the forward pass ever meets a replaced function, and the recomputation of activation
checkpointing, which runs in the backward pass, is never counted.

Some models are not called at the root: a LightningModule calls its network, a GAN its two halves. Then the modules
that really are called from outside are found by observing all of them for one step.

A compiled model cannot be observed from inside: hooks that are added after compilation never fire, and hooks
compiled in would change the graph. A few times in a run its uncompiled copy gets the same batch once more, and that is
what collectors observe.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch._dynamo.eval_frame import OptimizedModule

from bedside.collect.hooks.copies import observed_as
from bedside.collect.model.parameter_layout import WRAPPERS
from bedside.collect.probes import Probes
from bedside.training.model_copy import NotCopied, independent

if TYPE_CHECKING:
    from bedside.collect.collector import Collector

is_compiling = torch.compiler.is_compiling
CALL_SLOT = "_compiled_call_impl"  # what nn.Module calls instead of itself; left out when a module is copied or saved
STEPS_BEFORE_SEARCH = (
    2  # steps without a forward before other called modules are searched for: the first may come from a restored graph
)
COMPILED_SAMPLES = (1, 2, 4, 10, 30, 100, 300, 1000)  # of the samples of a compiled model: those at which it is copied


class Forward:
    """One forward pass as it came in: the module (inside its wrappers), its arguments, and the modes of the moment."""

    __slots__ = ("args", "autocast", "grad", "kwargs", "module", "training", "validating")

    def __init__(self, called: CalledModule, args: Any, kwargs: Any, *, grad: bool, validating: bool) -> None:
        self.module = called.core
        self.args = args
        self.kwargs = kwargs
        self.grad = grad
        self.validating = validating
        self.training = called.core.training
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


class CalledModule(Hook):
    """A module that the user calls; what it was called with is kept where nobody could be told: in the graph of a
    compiled call, and at fast-path steps, where usual training forwards are only counted."""

    def __init__(
        self, module: nn.Module, entered: Callable[[CalledModule, Any, Any], None], leave_fast_path: Callable[[], None]
    ) -> None:
        self.module = module
        self.core = unwrapped(module)
        self.entered = entered
        self.traced = False
        self.args: Any = None
        self.kwargs: Any = None
        self.grad = True
        self.autocast: Any = ()  # of the last training forward that was reported
        self.usual: bool | None = None  # at fast-path steps: the mode of a training forward, which is not reported
        self.skipped = 0  # forwards of this step that were not reported
        self.counted = 0  # training forwards of this step that were
        self.usual_count = 0  # the least there were in a step: more than that are no usual step's
        self._leave_fast_path = leave_fast_path
        self._replicated = False  # a copy of the module is what is called
        self._handle: Any = module.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if is_compiling():  # what is done here becomes part of the graph, so it does no more than this
            self.traced = True
            self.args = args
            self.kwargs = kwargs
            self.grad = torch.is_grad_enabled()
            return
        if self.usual is self.core.training and self.skipped < self.usual_count and torch.is_grad_enabled():
            self.skipped += 1
            self.args = args
            self.kwargs = kwargs
            return
        self._replicated |= module is not self.module
        self.entered(self, args, kwargs)

    def enter_fast_path(self, usual: bool | None) -> None:
        """Fast-path steps follow; this is the mode of a training forward. A hook would send every call of the module
        down torch's slow path, ten microseconds at a step of one millisecond; its place for a compiled call does not,
        and does not travel with copies of the model."""
        self.usual = usual
        plain = type(self.module).__call__ is nn.Module.__call__ and not is_compiled(self.module)
        if plain and self.usual_count and not self.traced and not self._replicated:
            self._handle.remove()
            self.module.__dict__[CALL_SLOT] = self._pass

    def leave_fast_path(self) -> None:
        self.usual = None
        if self.module.__dict__.get(CALL_SLOT) == self._pass:
            del self.module.__dict__[CALL_SLOT]
            self._handle = self.module.register_forward_pre_hook(self, with_kwargs=True)

    def close(self) -> None:
        self.leave_fast_path()
        self._handle.remove()

    def _pass(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the module at a fast-path step."""
        if not is_compiling():
            if self.usual is self.core.training and self.skipped < self.usual_count and torch.is_grad_enabled():
                self.skipped += 1
                self.args = args
                self.kwargs = kwargs
            else:
                self._leave_fast_path()  # and the hook observes it
        return self.module._call_impl(*args, **kwargs)

    def forget(self) -> None:
        self.args = self.kwargs = None
        self.skipped = 0


class ForwardHooks:
    """Observes every forward of the model; lets collectors observe the training forwards of a sampled step."""

    def __init__(self, model: nn.Module, probes: Probes | None = None) -> None:
        self.model = model
        self.not_copied = ""  # why a compiled model was not observed
        self._probes = probes or Probes()
        self._samples_of_compiled = 0
        self.validating = False
        self.spent = 0.0  # seconds in the forward hooks, since the budget was last updated
        self.last: Forward | None = None  # the forward that the next backward belongs to; dropped after the step
        self.training_mode: bool | None = None  # the mode training forwards usually have, once known
        self.compiled = any(is_compiled(module) for module in model.modules())
        self.blind = False  # steps go by, but no forward is ever observed
        self.on_forward: Callable[[Forward], None] = lambda forward: None  # the monitor's ear
        self._leave_fast_path: Callable[[], None] = lambda: None
        self._failed: Callable[[Collector, Exception], None] = lambda collector, error: None
        self._called_modules: list[CalledModule] = []
        self._exit_handle: Any = None
        self._due: list[Collector] = []
        self._sampling: list[Collector] = []
        self._sampled_modules: set[int] = set()  # entries that have been observed in this step
        self._forward_seen = False
        self._steps_without_forward = 0
        self._searching: list[Any] = []

    def open(
        self,
        on_forward: Callable[[Forward], None],
        leave_fast_path: Callable[[], None],
        failed: Callable[[Collector, Exception], None],
    ) -> None:
        self.on_forward, self._leave_fast_path, self._failed = on_forward, leave_fast_path, failed
        self._hook_called([self.model])

    def close(self) -> None:
        self._stop_sampling()
        for called in self._called_modules:
            called.close()
        for handle in self._searching:
            handle.remove()
        self._called_modules, self._searching, self._due, self.last = [], [], [], None

    def expect(self, collectors: Sequence[Collector]) -> None:
        """These observe the next training forward of each entry."""
        self._due = list(collectors)
        self._sampled_modules = set()

    # What the monitor tells it.

    def before_backward(self) -> None:
        """The forward is over and its weights are still the same: a compiled model is observed now."""
        for called in self._called_modules:
            if called.traced and called.args is not None:
                self.compiled = self._forward_seen = True
                self.last = Forward(called, called.args, called.kwargs, grad=called.grad, validating=self.validating)
                called.args = called.kwargs = None
                self.on_forward(self.last)
        if self.compiled and self._due and self.last is not None and self._counts(self.last):
            self._samples_of_compiled += 1
            if self._samples_of_compiled in COMPILED_SAMPLES and not self.not_copied:
                self._observe_copy(self.last)

    def _observe_copy(self, forward: Forward) -> None:
        try:
            with self._probes.copy(forward.module) as copy, contextlib.ExitStack() as stack:
                stack.enter_context(observed_as(forward.module, copy))
                for device, dtype in forward.autocast:
                    stack.enter_context(torch.autocast(device, dtype))
                args, kwargs = independent((forward.args, forward.kwargs))
                self._start_sampling(forward)
                try:
                    copy(*args, **kwargs)
                finally:
                    self._stop_sampling()
        except NotCopied as why:
            self.not_copied = str(why)
        except Exception as error:
            self.not_copied = f"a forward of its copy failed ({type(error).__name__}: {error})"

    def after_backward(self, ours: bool) -> None:
        if ours and self.last is not None and self.last.grad:
            self.training_mode = self.last.training

    def enter_fast_path(self) -> Sequence[CalledModule]:
        """Fast-path steps follow: training forwards are only counted. Returns the entries, which keep what came in."""
        for called in self._called_modules:
            called.enter_fast_path(self.training_mode)
        return self._called_modules

    def leave_fast_path(self) -> list[Forward]:
        """Report all forwards again; returns those of this step that were not reported."""
        skipped: list[Forward] = []
        for called in self._called_modules:
            called.leave_fast_path()
            count = called.skipped or int(called.traced and called.args is not None)
            if count:
                forward = Forward(called, called.args, called.kwargs, grad=True, validating=False)
                forward.autocast = called.autocast
                skipped += [forward] * count
                self.last, self._forward_seen = forward, True
            called.forget()
        return skipped

    @property
    def fast_path_possible(self) -> bool:
        """Whether it is known what a usual forward is."""
        return not self._searching and (self.training_mode is not None or self.blind or not self._called_modules)

    def step_ended(self) -> None:
        """Lets go of the batch, and searches for other called modules when this one is never called."""
        if not self._called_modules:
            return
        self.last = None
        for called in self._called_modules:
            if called.counted:
                called.usual_count, called.counted = min(called.usual_count or called.counted, called.counted), 0
        if self._searching:
            self._found_entries()
        elif self._forward_seen:
            self._steps_without_forward = 0
        elif not self.blind:
            self._steps_without_forward += 1
            if self._steps_without_forward >= STEPS_BEFORE_SEARCH:
                self._search()
        self._forward_seen = False

    # What the hooks do.

    def _hook_called(self, called_modules: Sequence[nn.Module]) -> None:
        for called in self._called_modules:
            called.close()
        self._called_modules = [
            CalledModule(module, self._forward_begins, self._leave_fast_path) for module in called_modules
        ]

    def _forward_begins(self, called: CalledModule, args: Any, kwargs: Any) -> None:
        began = time.perf_counter()
        self._forward_seen = True
        forward = Forward(called, args, kwargs, grad=torch.is_grad_enabled(), validating=self.validating)
        if forward.grad and forward.training == self.training_mode:
            called.counted += 1
            called.autocast = forward.autocast
        self.on_forward(forward)
        self.last = forward
        self.spent += time.perf_counter() - began
        if self._due and not self.compiled and self._counts(forward):
            self._start_sampling(forward)
            if self._sampling:
                self._exit_handle = called.module.register_forward_hook(Hook(self._stop_sampling), always_call=True)

    def _counts(self, forward: Forward) -> bool:
        """Whether this is a training forward (as far as that can be known before its backward), and the entry's
        first of the step: micro-batches are alike, so one of them is enough."""
        usual = self.training_mode is None or forward.training == self.training_mode
        return forward.grad and usual and not forward.validating and id(forward.module) not in self._sampled_modules

    def _start_sampling(self, forward: Forward) -> None:
        self._sampled_modules.add(id(forward.module))
        for collector in self._due:
            try:
                if collector.begin_reading(forward):
                    self._sampling.append(collector)
            except Exception as error:
                self._sampling.append(collector)
                self._failed(collector, error)

    def _stop_sampling(self, *_: Any) -> None:
        if self._exit_handle is not None:
            self._exit_handle.remove()
            self._exit_handle = None
        inside, self._sampling = self._sampling, []
        for collector in reversed(inside):
            try:
                collector.end_reading()
            except Exception as error:
                self._failed(collector, error)

    # Models that are called elsewhere than at the root.

    def _search(self) -> None:
        """For one step, everybody says when they are called; whom nobody of ours called is an entry."""
        wrappers = _compiled_wrappers(self.model)
        if wrappers:
            self.compiled = True
            self._hook_called(wrappers)
            self._steps_without_forward = 0
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
        self._steps_without_forward = 0
        if self._outermost:
            self._hook_called(list(self._outermost.values()))
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
    call = getattr(module, CALL_SLOT, None)
    return isinstance(module, OptimizedModule) or not (
        call is None or isinstance(getattr(call, "__self__", 0), CalledModule)
    )


def autocast_now() -> tuple[tuple[str, torch.dtype], ...]:
    """The autocast regions we are in: device type and dtype."""
    return tuple((kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind))


def _compiled_wrappers(model: nn.Module) -> list[nn.Module]:
    """`torch.compile(model)` that was called before watching began leaves no mark on the model itself."""
    return [o for o in gc.get_objects() if type(o) is OptimizedModule and o._modules.get("_orig_mod") is model]
