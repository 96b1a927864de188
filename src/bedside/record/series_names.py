"""The names of series as trackers show them: `train/loss`, `grad_norm/overall`, `grad_norm/layers.0`.

Inside, a series is a pair of a vital and its owner. Outside it has one name, the same in `run.keys()`, in TensorBoard
and in W&B. The short inside names (`loss`, `grad_norm`) are understood as well.

>>> name_of(("grad_norm", "")), name_of(("grad_norm", "layers.0")), name_of(("loss", ""))
('grad_norm/overall', 'grad_norm/layers.0', 'train/loss')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

Key = tuple[str, str]  # (vital, owner)

OUTSIDE: dict[Key, str] = {
    ("loss", ""): "train/loss",
    ("loss_epoch", ""): "train/loss_epoch",
    ("grad_norm", ""): "grad_norm/overall",
}
_INSIDE = {name: key for key, name in OUTSIDE.items()}


def name_of(key: Key) -> str:
    """The public name of a series."""
    vital, owner = key
    return OUTSIDE.get(key) or (f"{vital}/{owner}" if owner else vital)


def key_named(name: str, owners: Mapping[str, Collection[str]]) -> Key | None:
    """The series of this name among the vitals and their owners; None if there is none."""
    key = _INSIDE.get(name)
    if key is not None and key[1] in owners.get(key[0], ()):
        return key
    if "" in owners.get(name, ()):
        return (name, "")
    for at, letter in enumerate(name):
        if letter == "/" and name[at + 1 :] in owners.get(name[:at], ()):
            return (name[:at], name[at + 1 :])
    return None


def matching_names(pattern: str, keys: Iterable[Key]) -> list[Key]:
    """The series whose name, outside or inside, matches a pattern with `*` and `?`."""
    return [
        key for key in keys if fnmatchcase(name_of(key), pattern) or fnmatchcase("/".join(filter(None, key)), pattern)
    ]
