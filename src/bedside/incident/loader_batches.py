"""What every DataLoader hands out while a black box is on, with the indices of the samples where the loader knows.

Batches come out in the order in which their indices went in, with and without workers, so each iterator's indices wait
in a queue. Three methods of torch's iterators are replaced for it, and put back with the last black box.
"""

from __future__ import annotations

import functools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

Listener = Callable[[Any, Sequence[Any] | None], None]

_listeners: list[Listener] = []
_waiting: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()
_originals: dict[str, Any] = {}


def listen(listener: Listener) -> None:
    if not _listeners:
        for name, replacement in (("_reset", _reset), ("_next_index", _next_index), ("__next__", _next)):
            original = _originals[name] = getattr(_BaseDataLoaderIter, name)
            setattr(_BaseDataLoaderIter, name, functools.wraps(original)(replacement))
    _listeners.append(listener)


def stop(listener: Listener) -> None:
    if listener not in _listeners:
        return
    _listeners.remove(listener)
    if not _listeners:
        for name, original in _originals.items():  # kept: a call may be under way in another thread
            setattr(_BaseDataLoaderIter, name, original)


def _reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
    _waiting.pop(iterator, None)  # a new pass of persistent workers: what they had fetched ahead is thrown away
    return _originals["_reset"](iterator, *args, **kwargs)


def _next_index(iterator: Any) -> Any:
    indices = _originals["_next_index"](iterator)
    _waiting.setdefault(iterator, deque()).append(indices)
    return indices


def _next(iterator: Any) -> Any:
    batch = _originals["__next__"](iterator)
    queue = _waiting.get(iterator)
    indices = queue.popleft() if queue else None
    for listener in _listeners:
        listener(batch, _as_list(indices))
    return batch


def _as_list(indices: Any) -> Sequence[Any] | None:
    """The sampler's own answer for this batch; None for a stream, which has no indices."""
    found = list(indices) if isinstance(indices, list | tuple) else [indices]
    return None if any(each is None for each in found) else found
