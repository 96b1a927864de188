"""Batches from the user's loader, whose position does not move.

A DataLoader starts a new pass at each `iter()`, which draws from its generator; both are put back by `save_loader`.
One with persistent workers would restart the pass that the training is in the middle of, so such a loader is copied
first. What can only be read once (a generator, an open iterator) cannot be put back and is refused.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from bedside.errors import BadOption
from bedside.training.batches import map_tensors
from bedside.training.saved_values import PLAIN, Memo, Restore, save

PARTS = ("dataset", "sampler", "batch_sampler", "generator")  # of a loader, which may hold a position of their own
DEPTH = 4  # a batch sampler holds a sampler, a subset holds a data set, …
MAX_LIST_LENGTH = 1_000_000  # entries: an order of examples is copied, a data set in a list of lists is not

_SOURCES = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)


class Batches:
    """The loader's batches by number, fetched once and kept: `batches[0]`; short loaders begin anew.

    Each is handed out as a copy, because a model may write into its input (`x *= scale`).
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = readable(loader)
        self._kept: list[Any] = []
        self._rest: Iterator[Any] | None = None
        self.per_epoch: int | None = None  # known once a pass has ended

    def __getitem__(self, number: int) -> Any:
        while len(self._kept) <= number:
            self._kept.append(self._next())
        return map_tensors(torch.clone, self._kept[number])

    def first(self, count: int) -> list[Any]:
        """The first `count` batches; fewer where one pass has fewer."""
        kept = []
        for number in range(count):
            batch = self[number]
            if self.per_epoch is not None and number >= self.per_epoch:
                break
            kept.append(batch)
        return kept

    def _next(self) -> Any:
        if self._rest is None:
            self._rest = iter(self._loader)
        try:
            return next(self._rest)
        except StopIteration:
            if not self._kept:
                raise BadOption(
                    f"The loader ({type(self._loader).__name__}) has no batches.",
                    expected="a loader with at least one batch",
                    try_="check len(loader), its sampler and drop_last",
                ) from None
            if self.per_epoch is None:
                self.per_epoch = len(self._kept)
            self._rest = iter(self._loader)
            return next(self._rest, self._kept[len(self._kept) % self.per_epoch])


def readable(loader: Any) -> Iterable[Any]:
    """A loader that can be iterated without disturbing whoever else iterates it; refuses what can be read only once."""
    if isinstance(loader, Iterator):
        raise BadOption(
            f"The loader is a {type(loader).__name__}, which can be read only once.",
            expected="a DataLoader, a list of batches, or another object that starts anew with iter()",
            try_="the DataLoader itself instead of iter(loader), or list(itertools.islice(loader, 100))",
        )
    if not isinstance(loader, Iterable) and not hasattr(loader, "__getitem__"):
        raise BadOption(
            f"The loader is a {type(loader).__name__}, which has no batches to read.",
            expected="a DataLoader or a list of batches",
            try_="torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)",
        )
    if isinstance(loader, DataLoader) and loader.persistent_workers:
        loader = copy.copy(loader)
        vars(loader).update(persistent_workers=False, _iterator=None)  # DataLoader's own setter refuses
    batches: Iterable[Any] = loader
    return batches


def save_loader(loader: Any) -> Restore:
    """A function that puts the loader back: generators, counters, orders, also those of its data set and samplers."""
    if isinstance(loader, list | tuple) or loader is None:
        return lambda: loader
    if callable(getattr(loader, "state_dict", None)) and callable(getattr(loader, "load_state_dict", None)):
        state = copy.deepcopy(loader.state_dict())
        return lambda: loader.load_state_dict(state)
    memo: Memo = {}
    saved = list(_saved_parts(loader, memo, DEPTH, set()))

    def restore() -> None:
        for each in saved:
            each()

    return restore


def _saved_parts(part: Any, memo: Memo, depth: int, seen: set[int]) -> Iterator[Restore]:
    """What may move while batches are read: never the data itself, which may be large."""
    if id(part) in seen or not depth:
        return
    seen.add(id(part))
    if isinstance(part, _SOURCES):
        yield save(part, memo)
        return
    attributes = getattr(part, "__dict__", None)
    if attributes is None:
        return
    small = {key: each for key, each in attributes.items() if _is_small(each)}
    yield _attributes(part, {key: save(each, memo) for key, each in small.items()}, set(attributes))
    for key, each in attributes.items():
        if key in PARTS or isinstance(each, _SOURCES) or hasattr(each, "__iter__"):
            yield from _saved_parts(each, memo, depth - 1, seen)


def _attributes(part: Any, saved: dict[str, Restore], names: set[str]) -> Restore:
    def restore() -> None:
        attributes = vars(part)
        for name in set(attributes) - names:
            del attributes[name]
        attributes.update({name: each() for name, each in saved.items()})

    return restore


def _is_small(value: Any) -> bool:
    if isinstance(value, PLAIN):
        return True
    if isinstance(value, list) and len(value) <= MAX_LIST_LENGTH:
        return all(isinstance(each, PLAIN) for each in value)
    return False
