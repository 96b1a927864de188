"""The examples of a loader as fingerprints: equal ones are equal to the last bit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader, Subset

from bedside.preflight.setup import Setup
from bedside.training.batches import rows_in
from bedside.training.loader import readable

DIGEST = 16  # bytes: no two examples of any data set agree by chance


def fingerprints(setup: Setup, batch: Any) -> list[bytes]:
    """One for each example of a batch, of its inputs alone; none where no tensor has a row for each."""
    rows = rows_in(batch)
    tensors = [each for _, each in setup.inputs(batch) if each.ndim and each.shape[0] == rows]
    return [_fingerprint([each[row] for each in tensors]) for row in range(rows)] if tensors else []


def _fingerprint(tensors: list[Tensor]) -> bytes:
    made = hashlib.blake2b(digest_size=DIGEST)
    for each in tensors:
        values = each.detach().cpu().contiguous()
        values = values.float() if values.is_floating_point() else values  # numpy knows no bfloat16
        made.update(str(tuple(values.shape)).encode())
        made.update(values.numpy().tobytes())
    return made.digest()


def all_fingerprints(setup: Setup, loader: Any, most: int, seconds: float) -> tuple[list[bytes], bool]:
    """Those of one pass over a loader, up to so many or so long; and whether that was the whole pass."""
    found: list[bytes] = []
    began = time.perf_counter()
    for batch in readable(loader):
        found += fingerprints(setup, batch)
        if len(found) >= most or time.perf_counter() - began > seconds:
            return found, False
    return found, True


def indices(loader: Any) -> tuple[int, set[int]] | None:
    """Which examples of which data set a loader may draw, where it says so: the set's id, and positions in it."""
    if not isinstance(loader, DataLoader) or not hasattr(loader.dataset, "__len__"):
        return None
    sampler = loader.sampler
    chosen = getattr(sampler, "indices", None)
    own = chosen if chosen is not None else range(len(loader.dataset))
    dataset, positions = loader.dataset, [int(each) for each in own]
    while isinstance(dataset, Subset):
        inner = [int(each) for each in dataset.indices]
        dataset, positions = dataset.dataset, [inner[each] for each in positions]
    return id(dataset), set(positions)


def map_style(loader: Any) -> DataLoader[Any] | None:
    """The loader, if examples of its data set can be asked for by number."""
    if isinstance(loader, DataLoader) and hasattr(loader.dataset, "__getitem__") and hasattr(loader.dataset, "__len__"):
        return loader
    return None


def item_batches(loader: DataLoader[Any], numbers: list[int], times: int = 2) -> Iterator[Any]:
    """The same examples, fetched and collated anew each time."""
    collate = loader.collate_fn
    for _ in range(times):
        yield collate([loader.dataset[number] for number in numbers])
