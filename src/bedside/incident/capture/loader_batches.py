"""The batches that every DataLoader yields while a black box is on, with the indices of the samples where the loader
has them.

Batches come out in the order in which their indices went in, with and without workers, so each iterator's indices wait
in a queue. Three methods of torch's iterators are replaced for it, and put back with the last black box.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from bedside.collect.hooks.replacement import Replacement

Listener = Callable[[Any, Sequence[Any] | None], None]

_listeners: list[Listener] = []
_waiting: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()


def listen(listener: Listener) -> None:
    _listeners.append(listener)
    for each in _REPLACEMENTS:
        each.install()


def stop(listener: Listener) -> None:
    if listener not in _listeners:
        return
    if len(_listeners) == 1:
        for each in _REPLACEMENTS:
            each.remove()
    _listeners.remove(listener)


def _reset(original: Any) -> Any:
    def reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
        _waiting.pop(iterator, None)  # a new pass of persistent workers: prefetched batches are thrown away
        return original(iterator, *args, **kwargs)

    return reset


def _next_index(original: Any) -> Any:
    def next_index(iterator: Any) -> Any:
        indices = original(iterator)
        _waiting.setdefault(iterator, deque()).append(indices)
        return indices

    return next_index


def _next(original: Any) -> Any:
    def next_batch(iterator: Any) -> Any:
        batch = original(iterator)
        queue = _waiting.get(iterator)
        indices = queue.popleft() if queue else None
        for listener in _listeners:
            listener(batch, _as_list(indices))
        return batch

    return next_batch


_REPLACEMENTS = [
    Replacement(_BaseDataLoaderIter, "_reset", _reset),
    Replacement(_BaseDataLoaderIter, "_next_index", _next_index),
    Replacement(_BaseDataLoaderIter, "__next__", _next),
]


def _as_list(indices: Any) -> Sequence[Any] | None:
    """The sampler's own answer for this batch; None for a stream, which has no indices."""
    found = list(indices) if isinstance(indices, list | tuple) else [indices]
    return None if any(each is None for each in found) else found
