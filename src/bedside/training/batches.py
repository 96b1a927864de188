"""Batches of any shape: a tensor, tuples, dicts, dataclasses, Hugging Face's BatchEncoding, nested as they come.

Nothing here assumes `(x, y)`. A batch keeps its type: a named tuple stays one, a dataclass is copied with new fields.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

Place = tuple[str, Tensor]  # where in the batch, and the tensor there


def named_tensors(batch: Any, at: str = "batch") -> Iterator[Place]:
    """Every tensor with the expression that reaches it: `batch[0]`, `batch['labels']`, `batch.image`."""
    if isinstance(batch, Tensor):
        yield at, batch
    elif isinstance(batch, PackedSequence):
        yield f"{at}.data", batch.data
    elif isinstance(batch, Mapping):
        for key, each in batch.items():
            yield from named_tensors(each, f"{at}[{key!r}]")
    elif isinstance(batch, tuple) and hasattr(batch, "_fields"):
        for name, each in zip(batch._fields, batch, strict=True):
            yield from named_tensors(each, f"{at}.{name}")
    elif isinstance(batch, list | tuple):
        for number, each in enumerate(batch):
            yield from named_tensors(each, f"{at}[{number}]")
    elif is_dataclass_value(batch):
        for field in dataclasses.fields(batch):
            yield from named_tensors(getattr(batch, field.name, None), f"{at}.{field.name}")


def map_tensors(function: Callable[[Tensor], Any], batch: Any) -> Any:
    """The same batch with `function` applied to every tensor; everything else is kept as it is."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, PackedSequence):
        return PackedSequence(function(batch.data), *batch[1:])
    if isinstance(batch, Mapping):
        return _mapping_like(batch, {key: map_tensors(function, each) for key, each in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(function, each) for each in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map_tensors(function, each) for each in batch)
    if is_dataclass_value(batch):
        mapped = copy.copy(batch)
        for field in dataclasses.fields(batch):
            if hasattr(batch, field.name):  # object's own setter, because the dataclass may be frozen
                object.__setattr__(mapped, field.name, map_tensors(function, getattr(batch, field.name)))
        return mapped
    return batch


def to_device(batch: Any, device: torch.device) -> Any:
    """The batch on the model's device; one with a `to` of its own (a graph, a BatchEncoding) moves itself."""
    if not isinstance(batch, Tensor | list | tuple | dict) and callable(getattr(batch, "to", None)):
        return batch.to(device)
    return map_tensors(lambda tensor: tensor.to(device), batch)


def rows_in(batch: Any) -> int:
    """How many examples the batch holds: the first dimension that most of its tensors share; 0 if it has none."""
    sizes = [tensor.shape[0] for _, tensor in named_tensors(batch) if tensor.ndim]
    return max(sizes, key=sizes.count) if sizes else 0


def take_rows(batch: Any, rows: Sequence[int] | Tensor) -> Any:
    """Only these examples of the batch: every tensor with a row for each example, and every list of that length."""
    total = rows_in(batch)
    chosen = torch.as_tensor(rows, dtype=torch.long)

    def cut(tensor: Tensor) -> Tensor:
        return tensor[chosen.to(tensor.device)] if tensor.ndim and tensor.shape[0] == total else tensor

    return _cut_lists(map_tensors(cut, batch), total, chosen.tolist())


def same_batch(one: Any, other: Any) -> bool:
    """Whether two batches hold the same tensors, bit for bit."""
    pairs = list(named_tensors(one)), list(named_tensors(other))
    return [at for at, _ in pairs[0]] == [at for at, _ in pairs[1]] and all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b) for (_, a), (_, b) in zip(*pairs, strict=True)
    )


def is_dataclass_value(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _mapping_like(batch: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    if type(batch) is dict:
        return values
    try:
        remade = type(batch)(values)  # type: ignore[call-arg]  # BatchEncoding, OrderedDict and most others take a dict
    except Exception:  # whatever a stranger's constructor raises: a plain dict holds the same values
        return values
    return remade if set(remade) == set(values) else values


def _cut_lists(batch: Any, total: int, chosen: Sequence[int]) -> Any:
    """Lists beside the tensors (sentences, file names) that have one entry for each example."""
    if isinstance(batch, dict):
        return {key: _cut_lists(each, total, chosen) for key, each in batch.items()}
    if isinstance(batch, list) and len(batch) == total and not any(isinstance(each, Tensor) for each in batch):
        return [batch[row] for row in chosen]
    if type(batch) is tuple:
        return tuple(_cut_lists(each, total, chosen) for each in batch)
    return batch
