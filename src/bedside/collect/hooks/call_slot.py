"""Observes the calls of a module without a hook, and leaves no trace in copies or exports of the module.

`nn.Module` has an attribute for the compiled call of a module, `_compiled_call_impl`. torch checks it in every call
anyway, and leaves it out when a module is pickled or copied. Our wrapper in that slot calls the module as usual. A
forward hook instead would send every call of the module down torch's slow path (ten microseconds), would be saved with
the model, and could not be scripted.

`torch.jit.script` looks at all attributes of a module, so slots are lifted while it works. `torch.compile(module)`
would compile what is in the slot, so a slot moves to the wrapper that it returns (see `torch_patches.py`).

Installing and removing may be repeated and may be interrupted at any line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn

SLOT = "_compiled_call_impl"

is_compiling = torch.compiler.is_compiling
is_tracing = torch.jit.is_tracing


def is_transformed() -> bool:
    """Whether `torch.func` transforms what is called (`grad`, `vmap`): its tensors hold no numbers of their own."""
    return _peek_interpreter_stack() is not None


_peek_interpreter_stack = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: None)


class CallSlot:
    """What is called in place of a module. Another slot may be there already, or a call that the user compiled."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.next: Any = None  # what was in the slot before
        self._own = module._call_impl

    def install(self) -> None:
        attributes = self.module.__dict__
        if not self.installed:
            self.next = attributes.get(SLOT)
            attributes[SLOT] = self

    def remove(self) -> None:
        """Remove this one of several that observe a module, in whatever order they leave."""
        attributes = self.module.__dict__
        above = attributes.get(SLOT)
        if above is self:
            if self.next is None:
                del attributes[SLOT]
            else:
                attributes[SLOT] = self.next
        while isinstance(above, CallSlot):
            if above.next is self:
                above.next = self.next
            above = above.next

    @property
    def installed(self) -> bool:
        found = self.module.__dict__.get(SLOT)
        while isinstance(found, CallSlot):
            if found is self:
                return True
            found = found.next
        return False

    def move_to(self, module: nn.Module) -> None:
        """Observe another module from now on."""
        self.remove()
        self.module, self._own = module, module._call_impl
        self.install()

    def call(self, args: Any, kwargs: Any) -> Any:
        """The call that this one stands in for."""
        if is_compiling():  # nothing here may stop torch from compiling the call: no access to frames, for instance
            return (self.next or self._own)(*args, **kwargs)
        copy = self.copy_called(sys._getframe(2))
        return (self.next or self._own)(*args, **kwargs) if copy is None else copy._call_impl(*args, **kwargs)

    def copy_called(self, frame: FrameType) -> nn.Module | None:
        """A copy of the module that shares all attributes, as nn.DataParallel makes them; called by this frame."""
        caller = frame.f_locals.get("self")
        return caller if caller is not self.module and isinstance(caller, nn.Module) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def __deepcopy__(self, memo: Any) -> None:
        """For modules with their own way of being copied: nothing of ours goes along with the copy."""

    def __reduce__(self) -> Any:
        return type(None), ()


STANDING: list[CallSlot] = []  # those that stay between two forwards
_lock = threading.RLock()


def stand(slot: CallSlot) -> None:
    """Install a slot that stays until `leave`."""
    with _lock:
        if not any(each is slot for each in STANDING):
            STANDING.append(slot)
        slot.install()


def leave(slot: CallSlot) -> None:
    with _lock:
        slot.remove()
        STANDING[:] = [each for each in STANDING if each is not slot]


@contextmanager
def lifted() -> Iterator[None]:
    """No module has a slot of ours inside this block."""
    slots = [each for each in STANDING if each.installed]
    try:
        for slot in slots:
            slot.remove()
        yield
    finally:
        for slot in slots:
            if any(each is slot for each in STANDING):
                slot.install()
