"""What can be known of a loader without reading it: its sampler, its batch size, its last batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, RandomSampler, SequentialSampler

from bedside.preflight.rows import fingerprints
from bedside.preflight.setup import Setup
from bedside.training.loader import readable


def batch_size(loader: Any) -> int | None:
    return loader.batch_size if isinstance(loader, DataLoader) else None


def last_batch_size(loader: Any) -> int | None:
    """Examples in the last batch of a pass; None where that cannot be known without reading it all."""
    size = batch_size(loader)
    if size is None or loader.drop_last or not hasattr(loader.sampler, "__len__"):
        return None
    left = len(loader.sampler) % size
    return left or size


def is_sequential(loader: Any) -> bool:
    """Whether a DataLoader reads its data set from the first example to the last."""
    return isinstance(loader, DataLoader) and isinstance(loader.sampler, SequentialSampler)


def is_random(loader: Any) -> bool:
    return isinstance(loader, DataLoader) and isinstance(loader.sampler, RandomSampler)


def epoch_sampler(loader: Any) -> Any:
    """The sampler whose `set_epoch` must be called, if there is one."""
    found = (getattr(loader, name, None) for name in ("sampler", "batch_sampler"))
    return next((each for each in found if callable(getattr(each, "set_epoch", None))), None)


def first_order(setup: Setup, loader: Any, batches: int) -> list[bytes]:
    """The first examples of one pass, in order."""
    return [mark for batch in islice(_pass(loader), batches) for mark in fingerprints(setup, batch)]


def _pass(loader: Any) -> Iterator[Any]:
    return iter(readable(loader))


def same_order(one: Sequence[bytes], other: Sequence[bytes]) -> bool:
    return bool(one) and list(one) == list(other)
