"""Which models the parameters of some optimizers belong to, and what the script calls them.

A script gives its optimizer a list of tensors. Their models are looked for among all modules that are alive: those
that hold one of the tensors and are themselves part of no other. Where there are several (a generator and a
discriminator), they are watched side by side, under the names of the script's own variables.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer


class SeveralModels(nn.Module):  # type: ignore[misc]  # torch is not followed above the torch line
    """Models side by side, and tensors that belong to none; nothing of theirs is changed by being held here."""

    def __init__(self, models: dict[str, nn.Module], tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name, model in models.items():
            self.add_module(name, model)
        for name, tensor in tensors.items():
            self._parameters[name] = tensor  # a plain tensor that an optimizer trains


def tensors_of(optimizers: Iterable[Optimizer]) -> list[Tensor]:
    """Every tensor they train, each once."""
    each = (p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"])
    return list({id(p): p for p in each}.values())


def roots_of(tensors: Sequence[Tensor]) -> list[nn.Module]:
    """The outermost modules that hold these tensors; of several views of the same ones, the one in use."""
    wanted = {id(tensor) for tensor in tensors}
    # `type`, because asking a proxy or a lazy object for its class can do anything.
    alive = [each for each in gc.get_objects() if issubclass(type(each), nn.Module)]
    holds = {id(each): _held(each, wanted) for each in alive}
    owners = [each for each in alive if holds[id(each)]]
    inner = {id(part) for owner in owners for part in owner.modules() if part is not owner}
    named = set(_names(owners))
    found: list[nn.Module] = []
    # The largest first; among equals the one that the script has a name for, then the plainest.
    for owner in sorted(
        (each for each in owners if id(each) not in inner),
        key=lambda each: (-len(holds[id(each)]), id(each) not in named, sum(1 for _ in each.modules())),
    ):
        known = set().union(*(holds[id(each)] for each in found))
        if not holds[id(owner)] <= known:
            found.append(owner)
    return found


def as_one(roots: Sequence[nn.Module], tensors: Sequence[Tensor]) -> nn.Module:
    """The model to watch: the only root itself, or all of them and the tensors outside."""
    held = {id(p) for root in roots for p in root.parameters()}
    outside = [tensor for tensor in tensors if id(tensor) not in held]
    if len(roots) == 1 and not outside:
        return roots[0]
    names = _names([*roots, *outside])
    models: dict[str, Any] = {}
    for each in (*roots, *outside):
        plain = type(each).__name__.lower() if isinstance(each, nn.Module) else "tensor"
        name = names.get(id(each), plain)
        models[name if name not in models else f"{name}_{len(models)}"] = each
    return SeveralModels(
        {name: each for name, each in models.items() if isinstance(each, nn.Module)},
        {name: each for name, each in models.items() if not isinstance(each, nn.Module)},
    )


def _held(module: nn.Module, wanted: set[int]) -> frozenset[int]:
    try:
        return frozenset(id(p) for p in module.parameters()) & wanted
    except Exception:  # a module that is only half made, or makes its parameters when asked
        return frozenset()


def _names(things: Sequence[Any]) -> dict[int, str]:
    """What the code that is running calls them: a variable, or an attribute of `self`."""
    wanted = {id(each) for each in things}
    names: dict[int, str] = {}
    for name, value in _variables(sys._getframe(1)):
        if id(value) in wanted and name.isidentifier() and not name.startswith("__") and not hasattr(nn.Module, name):
            names.setdefault(id(value), name)
    return names


def _variables(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    globals_last: list[dict[str, Any]] = []
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("bedside", "torch"):
            for name, value in _locals(frame):
                yield name, value
                if name == "self" and id(value) not in seen and not issubclass(type(value), nn.Module):
                    seen.add(id(value))
                    yield from getattr(value, "__dict__", {}).items()
            globals_last.append(frame.f_globals)
        frame = frame.f_back
    for variables in globals_last:
        yield from list(variables.items())


def _locals(frame: FrameType) -> list[tuple[str, Any]]:
    found = frame.f_locals
    items = list(found.items())
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        # A copy that stays with the frame: it would keep this batch in memory until the function returns.
        found.clear()
    return items
