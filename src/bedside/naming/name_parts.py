"""A metric's name taken apart: its words, and the splits of the data that words may mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bedside.naming.other_languages import in_english

SPLITS = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "tr": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "validate": "val",
    "vali": "val",
    "eval": "val",
    "evaluation": "val",
    "evaluate": "val",
    "dev": "val",
    "holdout": "val",
    "heldout": "val",
    "crossval": "val",
    "xval": "val",
    "test": "test",
    "testing": "test",
}
_CAMEL = re.compile(r"(?<=[a-z0-9][a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"(?:'s\b|[\s/_.:\-()\[\]|@%])+")


@dataclass(frozen=True)
class Name:
    """One metric's name, read: its split, its kind, and the rest of it."""

    split: str  # "", train, val, test
    # loss, metric, lr, grad_norm, grad_norm_clipped, param_norm, loss_scale, skipped, clip_active, epoch, clock, other
    kind: str
    metric: str = ""  # for losses and metrics: what is left without the split
    owner: str = ""  # the module, group or evaluation set
    over: str = ""  # "epoch" when it is Lightning's mean over the epoch beside a value per step
    rank: int = 0  # among losses: 0 plainly the loss, 1 a usual name of it, 2 the loss of something
    words: tuple[str, ...] = ()  # of the metric, for telling evaluation sets from parts
    bare: bool = False  # nothing in the name says which split it is of


def split_words(name: str) -> list[str]:
    return in_english(_words(name))


def is_foreign(name: str) -> bool:
    """Whether a name has words of another language that mean something to us."""
    return in_english(words := _words(name)) != words


def _words(name: str) -> list[str]:
    return [word.lower() for word in _SEPARATORS.split(_CAMEL.sub("_", name)) if word]
