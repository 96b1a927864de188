"""The names of series as trackers show them: `train/loss`, `grad_norm/overall`, `grad_norm/layers.0`.

Inside, a series is a pair of a vital and its owner. Outside it has one name, the same in `run.keys()`, in TensorBoard
and in W&B. The short inside names (`loss`, `grad_norm`) are understood as well.

>>> name_of(("grad_norm", "")), name_of(("grad_norm", "layers.0")), name_of(("loss", ""))
('grad_norm/overall', 'grad_norm/layers.0', 'train/loss')
>>> name_of(("activation_rms", "encoder"))
'activation/rms/encoder'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

Key = tuple[str, str]  # (vital, owner)

PUBLIC_VITALS = {
    "loss": "train/loss",
    "loss_epoch": "train/loss_epoch",
    "activation_mean": "activation/mean",
    "activation_rms": "activation/rms",
    "activation_max": "activation/max",
    "zero_fraction": "activation/zero_fraction",
    "saturated_fraction": "activation/saturated_fraction",
}
OWN_VITALS = {public: vital for vital, public in PUBLIC_VITALS.items()}
LOGGED = "_logged"  # what the loop logs under a public name of ours: `train_loss` beside the loss that was watched
OVERALL: Key = ("grad_norm", "")
OVERALL_NAME = "grad_norm/overall"


def name_of(key: Key) -> str:
    """The public name of a series."""
    if key == OVERALL:
        return OVERALL_NAME
    vital, owner = key
    name = f"{vital}{LOGGED}" if vital in OWN_VITALS else PUBLIC_VITALS.get(vital, vital)
    return f"{name}/{owner}" if owner else name


def key_named(name: str, owners: Mapping[str, Collection[str]]) -> Key | None:
    """The series of this name among the vitals and their owners; None if there is none."""
    if name == OVERALL_NAME and OVERALL[1] in owners.get(OVERALL[0], ()):
        return OVERALL
    ends = (at for at, letter in enumerate(f"{name}/") if letter == "/")
    for vital, owner in ((name[:at], name[at + 1 :]) for at in ends):
        for spelled in (OWN_VITALS.get(vital, vital), vital, vital.removesuffix(LOGGED)):
            if owner in owners.get(spelled, ()):
                return (spelled, owner)
    return None


def matching_names(pattern: str, keys: Iterable[Key]) -> list[Key]:
    """The series whose name, outside or inside, matches a pattern with `*` and `?`."""
    return [
        key for key in keys if fnmatchcase(name_of(key), pattern) or fnmatchcase("/".join(filter(None, key)), pattern)
    ]
