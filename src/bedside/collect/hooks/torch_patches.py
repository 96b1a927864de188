"""The few torch functions that are replaced while a monitor is active, and put back afterwards. They give what no hook
gives: `torch.autograd.backward` (the loss), the inner half of `clip_grad_norm_` (so that early `from torch.nn.utils
import clip_grad_norm_` does not escape), two methods of `GradScaler`, the loss functions (prediction and target side by
side), and `step` of the schedulers. Patches are shared by all monitors, installed with the first and removed with the
last; calling through them with nobody listening costs one loop over an empty list. A monitor whose model is not being
trained is idle: it is skipped until the model is called again, or its optimizer steps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
import torch.jit._recursive
from torch._dynamo.callback import CompilationCallbackHandler
from torch._dynamo.eval_frame import OptimizedModule
from torch.amp.grad_scaler import GradScaler
from torch.nn.utils import clip_grad
from torch.optim import Optimizer, lr_scheduler

from bedside.collect.hooks.call_slot import STANDING, is_transformed, lifted
from bedside.collect.hooks.copies import RUNNING as COPIES_RUN
from bedside.collect.hooks.replacement import Replacement

if TYPE_CHECKING:
    from bedside.collect.step.fast_path import FastPath
    from bedside.monitor.dispatcher import Dispatcher

# What F.cross_entropy and its kin call in the end (loss modules as well), so that an early
# `from torch.nn.functional import cross_entropy` does not escape; each takes (prediction, target, …).
LOSSES = {
    "cross_entropy": (torch._C._nn, "cross_entropy_loss"),
    "nll_loss": (torch._C._nn, "nll_loss_nd"),
    "mse_loss": (torch._C._nn, "mse_loss"),
    "l1_loss": (torch._C._nn, "l1_loss"),
    "smooth_l1_loss": (torch._C._nn, "smooth_l1_loss"),
    "huber_loss": (torch._C._nn, "huber_loss"),
    "binary_cross_entropy": (torch._C._nn, "binary_cross_entropy"),
    "binary_cross_entropy_with_logits": (torch, "binary_cross_entropy_with_logits"),
    "kl_div": (torch, "kl_div"),
    "ctc_loss": (torch, "ctc_loss"),
}

IGNORED_LABEL = -100  # the label that cross_entropy and nll_loss leave out unless another is given
is_compiling = torch.compiler.is_compiling
DISPATCHERS: list[Dispatcher] = []  # one for each monitor
ACTIVE: list[Dispatcher] = []  # those of them that are not idle
_only_fast_path: list[FastPath] = []  # of the one awake, where there is only one: it alone knows fast-path steps


def add_dispatcher(dispatcher: Dispatcher) -> None:
    """May be repeated; what an interrupt left undone is done then."""
    if not any(each is dispatcher for each in DISPATCHERS):
        DISPATCHERS.append(dispatcher)
    resume(dispatcher)
    for each in _replacements():
        each.install()


def remove_dispatcher(dispatcher: Dispatcher) -> None:
    """May be repeated, too."""
    DISPATCHERS[:] = [each for each in DISPATCHERS if each is not dispatcher]
    pause(dispatcher)
    if not DISPATCHERS:
        for each in reversed(_replacements()):
            each.remove()


def resume(dispatcher: Dispatcher) -> None:
    """From here on it is notified of everything. May be repeated."""
    for other in tuple(ACTIVE):
        if other is not dispatcher:
            other.another_begins()
    if not any(each is dispatcher for each in ACTIVE):
        ACTIVE.append(dispatcher)
    _only_fast_path[:] = [dispatcher.fast_path] if len(ACTIVE) == 1 else []


def pause(dispatcher: Dispatcher) -> None:
    """It is passed over until it is resumed."""
    ACTIVE[:] = [each for each in ACTIVE if each is not dispatcher]
    _only_fast_path[:] = [ACTIVE[0].fast_path] if len(ACTIVE) == 1 else []


@functools.cache
def _replacements() -> Sequence[Replacement]:
    schedulers = [  # those that have a step of their own, and the base of the rest
        each
        for each in vars(lr_scheduler).values()
        if isinstance(each, type) and issubclass(each, lr_scheduler.LRScheduler) and "step" in vars(each)
    ]
    return [
        Replacement(torch.autograd, "backward", _backward),
        Replacement(clip_grad, "_clip_grads_with_norm_", _clip_with_norm),
        Replacement(*_home_of(clip_grad.clip_grad_value_), _clip_value),
        Replacement(Optimizer, "__init__", _optimizer_made),
        Replacement(GradScaler, "scale", _scale),
        Replacement(GradScaler, "step", _scaler_step),
        *(Replacement(home, name, functools.partial(_loss, loss)) for loss, (home, name) in LOSSES.items()),
        *(Replacement(each, "step", _scheduler_step) for each in dict.fromkeys(schedulers)),
        Replacement(torch.jit._recursive, "create_script_module", _script),
        Replacement(OptimizedModule, "__init__", _compile),
        Replacement(CompilationCallbackHandler, "install_callbacks", _compilation),
    ]


def _backward(original: Any) -> Any:
    # The arguments by name: packing and unpacking them would take longer than the rest of a fast-path step.
    def backward(
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> None:
        if is_compiling():
            original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            return
        for fast_path in _only_fast_path:
            if fast_path.active and fast_path.takes_backward(tensors, grad_tensors):
                original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
                if fast_path.unconfirmed is not None:
                    fast_path.confirm()
                return
        concerned = [dispatcher for dispatcher in tuple(ACTIVE) if dispatcher.before_backward(tensors, grad_tensors)]
        try:
            original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        except Exception as error:
            for dispatcher in concerned:
                dispatcher.training_failed(error)
            raise
        for dispatcher in concerned:
            dispatcher.after_backward()

    return backward


def _clip_with_norm(original: Any) -> Any:
    def _clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(parameters, max_norm, total_norm, *args, **kwargs)
        if not isinstance(parameters, list):
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        if not any(
            fast_path.active and fast_path.clipped(parameters, max_norm, total_norm) for fast_path in _only_fast_path
        ):
            for dispatcher in tuple(ACTIVE):
                dispatcher.clipped_by_norm(parameters, max_norm, total_norm)
        return original(parameters, max_norm, total_norm, *args, **kwargs)

    return _clip_grads_with_norm_


def _home_of(function: Any) -> tuple[Any, str]:
    """Where a decorated function is kept by its decorator: there it is found by whoever imported it early."""
    for cell in function.__closure__ or ():
        if cell.cell_contents is getattr(function, "__wrapped__", None):
            return cell, "cell_contents"
    return clip_grad, function.__name__


def _clip_value(original: Any) -> Any:
    def clip_grad_value_(parameters: Any, clip_value: float, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(parameters, clip_value, *args, **kwargs)
        if not isinstance(parameters, list):
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        # At a fast-path step at which gradients are not read, what it takes away is not either.
        if not any(fast_path.active and not fast_path.awaits_gradients for fast_path in _only_fast_path):
            for dispatcher in tuple(ACTIVE):
                dispatcher.clipped_by_value(parameters, clip_value)
        return original(parameters, clip_value, *args, **kwargs)

    return clip_grad_value_


def _optimizer_made(original: Any) -> Any:
    def made(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        for dispatcher in tuple(DISPATCHERS):
            dispatcher.optimizer_made(self)

    return made


def _scale(original: Any) -> Any:
    def scale(self: GradScaler, outputs: Any) -> Any:
        scaled = original(self, outputs)
        for dispatcher in () if is_compiling() else tuple(ACTIVE):
            dispatcher.scaled(outputs, scaled)
        return scaled

    return scale


def _scaler_step(original: Any) -> Any:
    def step(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, optimizer, *args, **kwargs)
        for dispatcher in tuple(ACTIVE):
            dispatcher.before_scaler_step(self, optimizer)
        result = original(self, optimizer, *args, **kwargs)
        for dispatcher in tuple(ACTIVE):
            dispatcher.after_scaler_step(self, optimizer)
        return result

    return step


def _loss(name: str, original: Any) -> Any:
    def loss(*args: Any, **kwargs: Any) -> Any:
        unseen = is_compiling() or is_transformed() or (COPIES_RUN and get_ident() in COPIES_RUN)
        if not (unseen or _only_measures(args)):
            for fast_path in _only_fast_path:
                if fast_path.active and fast_path.thread == get_ident():
                    fast_path.call = (name, args, kwargs)
                    return original(*args, **kwargs)
            for dispatcher in tuple(ACTIVE):
                dispatcher.loss_computed(name, args, kwargs)
        return original(*args, **kwargs)

    return loss


def _only_measures(args: tuple[Any, ...]) -> bool:
    """Whether training outputs are given to a loss function for the log alone: no gradient will come from there."""
    return not torch.is_grad_enabled() and bool(args) and isinstance(args[0], torch.Tensor) and args[0].requires_grad


def prediction_and_target(input: Any = None, target: Any = None, *rest: Any, **named: Any) -> tuple[Any, Any]:
    """Of the arguments that a loss function was called with, by place or by name. Class labels that the call leaves out
    of the loss are -100, whatever the caller's own number for them is."""
    if isinstance(target, torch.Tensor) and not target.is_floating_point():
        ignored = named.get("ignore_index", rest[2] if len(rest) > 2 else IGNORED_LABEL)
        if isinstance(ignored, int) and ignored != IGNORED_LABEL:
            target = target.masked_fill(target == ignored, IGNORED_LABEL)
    return input, target


def _scheduler_step(original: Any) -> Any:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        for dispatcher in tuple(DISPATCHERS):  # those that rest as well: it may step long after its optimizer
            dispatcher.scheduler_stepped(self)
        return original(self, *args, **kwargs)

    return step


def _script(original: Any) -> Any:
    def create_script_module(*args: Any, **kwargs: Any) -> Any:
        with lifted():
            return original(*args, **kwargs)

    return create_script_module


def _compile(original: Any) -> Any:
    def __init__(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  (it stands in for one)
        original(self, module, *args, **kwargs)
        for slot in [each for each in STANDING if each.module is module]:
            slot.move_to(self)  # what is in the slot of a module is compiled with it

    return __init__


def _compilation(original: Any) -> Any:
    def install_callbacks(*args: Any, **kwargs: Any) -> Any:
        for dispatcher in tuple(DISPATCHERS):  # before anything is traced
            dispatcher.compile_begins()
        return original(*args, **kwargs)

    return install_callbacks
