"""Any batch or state as plain JSON and named tensors, and back: nothing is pickled, and loading runs no code.

Tuples, dicts, dataclasses, named tuples and arrays keep their shape. A class of the user's is found again only if it
is already imported, and is filled without being called. What cannot be written this way is left out, and named.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.training.batches import is_dataclass_value

IS = "is"  # the key that marks whatever is not plain JSON
MAX_EXCERPT_LENGTH = 200  # characters of what is shown of a value that is left out


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """Stands for a value that was not saved."""

    was: str


class Packing:
    """Collects tensors while values are packed: `tree = packing.pack(batch, "batch")`, then `packing.tensors`."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.left_out: list[str] = []  # where in the value, and what it was
        self._names: dict[tuple[Any, ...], str] = {}  # tensors that two places share are saved once

    @property
    def bytes(self) -> int:
        return sum(each.numel() * each.element_size() for each in self.tensors.values())

    def pack(self, value: Any, at: str) -> Any:
        """The value as JSON; its tensors are kept by name."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {IS: "float", "of": str(value)}
        if isinstance(value, Tensor):
            return self._tensor(value, at)
        if isinstance(value, np.ndarray):
            return self._array(value, at)
        if isinstance(value, np.generic):
            return self.pack(value.item(), at)
        if isinstance(value, bytes):
            return {IS: "bytes", "of": base64.b64encode(value).decode()}
        if isinstance(value, torch.dtype | torch.device):
            return {IS: type(value).__name__, "of": str(value).removeprefix("torch.")}
        return self._container(value, at)

    def _container(self, value: Any, at: str) -> Any:
        if isinstance(value, Mapping):
            pairs = [[self.pack(key, at), self.pack(each, f"{at}.{key}")] for key, each in value.items()]
            return {IS: "dict", "of": pairs}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            parts = [self.pack(each, f"{at}.{name}") for name, each in zip(value._fields, value, strict=True)]
            return {IS: "named tuple", "class": _name_of(value), "of": parts}
        if isinstance(value, list | tuple | set | frozenset):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {IS: kind, "of": [self.pack(each, f"{at}.{number}") for number, each in enumerate(value)]}
        if is_dataclass_value(value):
            names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
            parts = [[name, self.pack(getattr(value, name), f"{at}.{name}")] for name in names]
            return {IS: "dataclass", "class": _name_of(value), "of": parts}
        return self._leave_out(value, at)

    def _tensor(self, tensor: Tensor, at: str) -> Any:
        local = getattr(tensor, "to_local", None)
        values = (local() if callable(local) else tensor).detach()  # a DTensor's own part
        if values.is_sparse:
            values = values.coalesce()
            parts = {"indices": values.indices(), "values": values.values()}
            return {
                IS: "sparse",
                "size": list(values.shape),
                **{k: self._tensor(v, f"{at}.{k}") for k, v in parts.items()},
            }
        if values.layout is not torch.strided or values.is_quantized or values.device.type == "meta":
            return self._leave_out(tensor, at)
        key = (values.data_ptr(), values.dtype, values.device, tuple(values.shape), values.stride())
        if not values.numel() or key not in self._names:
            name = at.encode("utf-8", "backslashreplace").decode()  # the file takes no half characters
            self._names[key] = name
            self.tensors[name] = values
        return {IS: "tensor", "name": self._names[key], "device": values.device.type}

    def _array(self, value: np.ndarray[Any, Any], at: str) -> Any:
        try:
            tensor = torch.from_numpy(value)
        except TypeError:  # words, objects, or a type that torch does not have
            return {IS: "words", "of": value.tolist()} if value.dtype.kind in "U" else self._leave_out(value, at)
        return {**self._tensor(tensor, at), IS: "array"}

    def _leave_out(self, value: Any, at: str) -> Any:
        was = type(value).__name__
        self.left_out.append(f"{at} ({was})")
        return {IS: "left out", "of": was[:MAX_EXCERPT_LENGTH]}


def unpack(tree: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The value again; a tensor that is not among `tensors`, because its file was left out, is a LeftOut."""
    if not isinstance(tree, dict):
        return tree
    kind, of = tree.get(IS), tree.get("of")
    if kind in ("tensor", "array"):
        if tree["name"] not in tensors:
            return LeftOut("a tensor")
        return tensors[tree["name"]] if kind == "tensor" else tensors[tree["name"]].numpy()
    if kind == "sparse":
        indices, values = unpack(tree["indices"], tensors), unpack(tree["values"], tensors)
        return torch.sparse_coo_tensor(indices, values, tree["size"], check_invariants=True)
    if kind == "float":
        return float(of or 0)
    if kind == "bytes":
        return base64.b64decode(of or "")
    if kind in ("dtype", "device"):
        return getattr(torch, str(of)) if kind == "dtype" else torch.device(str(of))
    if kind == "words":
        return np.asarray(of)
    if kind == "left out":
        return LeftOut(str(of))
    return _container_of(kind, tree, of or [], tensors)


def _container_of(kind: Any, tree: dict[str, Any], of: list[Any], tensors: Mapping[str, Tensor]) -> Any:
    if kind == "dict":
        return {unpack(key, tensors): unpack(each, tensors) for key, each in of}
    if kind == "dataclass":
        fields = {name: unpack(each, tensors) for name, each in of}
        return _filled(_class_of(tree["class"]), fields)
    parts = [unpack(each, tensors) for each in of]
    if kind == "named tuple":
        found = _class_of(tree["class"])
        is_one = (
            isinstance(found, type) and issubclass(found, tuple) and len(getattr(found, "_fields", ())) == len(parts)
        )
        return tuple.__new__(found, parts) if is_one else tuple(parts)
    return tuple(parts) if kind == "tuple" else parts


def _filled(kind: Any, fields: dict[str, Any]) -> Any:
    """A dataclass without a call of its constructor; a dict where the class is not imported here."""
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        return fields
    value = object.__new__(kind)
    for name, each in fields.items():
        object.__setattr__(value, name, each)
    return value


def _name_of(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _class_of(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
