"""What would the model answer? Asked of a copy that is thrown away, so that the model itself never notices.

    try:
        before, after = answers(model, [Call((x,)), Call((changed,))])
    except NotCopied as why:
        ...                    # not examined: str(why)

or, where more than an answer is wanted::

    with model_copy(model) as copy:
        output = copy(*independent(args))

The copy is deep: parameters, buffers, plain attributes, generators and containers are its own, and so are the
arguments of `answers`. Random numbers of torch, numpy and Python go on afterwards as if nothing had happened, and so
does what the model's code reaches outside of it, as far as that can be found (`shared_state.py`). A model that cannot
be copied without risk is not copied: `NotCopied` says why, in words that finish "not examined: ". What remains possible
is what no copy can prevent: a print, a file, a message to somebody else.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_modules

from bedside.errors import pass_on_interrupts
from bedside.training.free_memory import free_memory
from bedside.training.object_contents import Held, held_by
from bedside.training.plain_modules import copy_plain_modules
from bedside.training.random_state import save_random_state
from bedside.training.shared_state import OutOfReach, save_reachable

HOOKS = ("_forward_pre_hooks", "_forward_hooks")


@dataclass(frozen=True)
class Limits:
    share: float = 0.2  # of a device's free memory: a copy and its forward then leave most of it to the training


class NotCopied(Exception):
    """The model was left alone; the message says why."""


@dataclass(frozen=True)
class Call:
    """The arguments of one forward pass, and the autocast regions it ran in."""

    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    autocast: Sequence[tuple[str, torch.dtype]] = ()


def answers(
    model: nn.Module,
    calls: Sequence[Call],
    prepare: Callable[[nn.Module], Any] = lambda copy: None,
    limits: Limits = Limits(),
) -> list[Any]:
    """What the model would return for each call, without gradients; all from the same state and random numbers.

    Args:
        prepare: Called with each copy before it is used, to set modes for instance.
    """
    found = []
    with _no_collection():
        held = _held_by(model, limits)
        for call in calls:
            with _copied_model(model, held) as twin, ExitStack() as regions:
                prepare(twin)
                for device, dtype in call.autocast:
                    regions.enter_context(torch.autocast(device, dtype))
                try:
                    found.append(twin(*independent(call.args), **independent(call.kwargs)))
                except NotCopied:
                    raise
                except Exception as error:  # whatever the user's forward raises when it is called once more
                    pass_on_interrupts(error)
                    raise NotCopied(f"a forward of its copy failed ({type(error).__name__}: {error})") from None
    return found


@contextmanager
def model_copy(model: nn.Module, limits: Limits = Limits()) -> Iterator[nn.Module]:
    """A copy of the model for this block, uncompiled and without gradients. Raises NotCopied if there can be none."""
    with _no_collection(), _copied_model(model, _held_by(model, limits)) as twin:
        yield twin


def _held_by(model: nn.Module, limits: Limits) -> Held:
    """What a copy of the model would hold. Raises NotCopied if there can be none."""
    held = held_by({"the model": model})
    _refuse(model, held, limits)
    return held


@contextmanager
def _no_collection() -> Iterator[None]:
    """A copy is thousands of new objects, after which Python looks for garbage among all the user's: 0.1 seconds."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _copied_model(model: nn.Module, held: Held) -> Iterator[nn.Module]:
    random = save_random_state()
    try:
        outside = save_reachable(model, held.functions)
    except OutOfReach as why:
        raise NotCopied(str(why)) from None
    try:
        twin = _copied(model, held)
        for parameter in twin.parameters():
            parameter.requires_grad_(False)  # an autocast region would keep casts of weights that need gradients
        _drop_our_hooks(twin)
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            yield twin
    finally:
        outside()
        random()


def independent(value: Any) -> Any:
    """Arguments of a forward that share nothing with the user's: `x *= 2` inside changes nobody else's x."""
    held = held_by({"an argument": value})
    if held.obstacle:
        raise NotCopied(held.obstacle)
    return _copied(value, held)


def _copied(value: Any, held: Held) -> Any:
    memo: dict[int, Any] = {id(each): each.detach().clone() for each in held.graph_tensors}
    try:
        if isinstance(value, nn.Module):
            copy_plain_modules(value, memo)
        return copy.deepcopy(value, memo)
    except Exception as error:  # a lock, a connection, or whatever a __deepcopy__ of the user's raises
        pass_on_interrupts(error)
        raise NotCopied(f"it cannot be copied ({type(error).__name__}: {error})") from None


def _refuse(model: nn.Module, held: Held, limits: Limits) -> None:
    if _has_other_ranks():
        raise NotCopied("the other ranks would not take part in another forward")
    if held.obstacle:
        raise NotCopied(held.obstacle)
    if torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks:
        raise NotCopied("there are forward hooks on all modules, which would notice")
    for name, module in model.named_modules():
        if any(not _is_harmless(hook) for kind in HOOKS for hook in module.__dict__[kind].values()):
            raise NotCopied(
                f"`{name}` has a forward hook, which would notice" if name else "the model has forward hooks"
            )
    for device, size in held.bytes.items():
        free = free_memory(device)
        if size > limits.share * free:
            raise NotCopied(f"a copy takes {_megabytes(size)} of the {_megabytes(free)} MB that are free on {device}")


def _is_harmless(hook: Any) -> bool:
    """Torch's own (weight_norm) belong to the forward and are copied with it; ours are left out of the copy."""
    return _home(hook) in ("torch", "bedside")


def _drop_our_hooks(twin: nn.Module) -> None:
    for module in twin.modules():
        for kind in HOOKS:
            hooks = module.__dict__[kind]
            for key in [key for key, hook in hooks.items() if _home(hook) != "torch"]:
                del hooks[key]


def _home(hook: Any) -> str:
    return str(getattr(hook, "__module__", None) or type(hook).__module__).partition(".")[0]


def _has_other_ranks() -> bool:
    there = torch.distributed.is_available() and torch.distributed.is_initialized()
    return bool(there and torch.distributed.get_world_size() > 1)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f}"
