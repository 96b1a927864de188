"""A failure of ours never harms the training: the monitor is switched off with one warning, and the loop goes on."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from bedside.errors import BedsideError, is_interrupt

if TYPE_CHECKING:
    from bedside.monitor.dispatcher import Dispatcher
    from bedside.monitor.monitor import Monitor

Method = TypeVar("Method", bound=Callable[..., Any])


def unharmed(method: Method) -> Method:
    """For what patches and hooks call: any failure in it switches the monitor off, and its time is accounted for."""

    @functools.wraps(method)
    def safely(self: Dispatcher, *args: Any, **kwargs: Any) -> Any:
        if self.off:
            return None
        within, self.timed = self.timed, True
        if not within:  # one that calls another is timed with it
            self.booked_until = time.perf_counter()
        gradients = torch.is_grad_enabled()
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            if is_interrupt(error):
                torch.set_grad_enabled(gradients)  # it may have come where a block without gradients is left
            self.caught(method.__name__, error)
        finally:
            self.timed = within
            if not within:
                self.book()

    return safely  # type: ignore[return-value]


def called_by_user(method: Method) -> Method:
    """For what the user calls: it raises for the user's own mistakes, and for nothing else."""

    @functools.wraps(method)
    def safely(self: Monitor, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except BedsideError:
            raise
        except BaseException as error:
            self.dispatcher.caught(method.__name__.strip("_"), error)

    return safely  # type: ignore[return-value]
