"""What the numbers of a line of text are: their names, and the column that each belongs to.

The same few names stand on every line of a log, so every answer is worked out once.

>>> told_apart(("loss train", "val")), column_of("Acc", section="val", split="").name
(('loss train', 'val/loss'), 'val/accuracy')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from bedside.logs.formats.text.line_numbers import FILLERS
from bedside.naming.metric_names import is_known, read_name
from bedside.naming.name_parts import SPLITS, split_words

MAX_NAME_LENGTH = 120  # characters of a name that is one
TELLING = frozenset("improve improved from decreased increased reduced reducing than".split())  # Keras' checkpoints


@dataclass(frozen=True)
class ColumnName:
    """Where a reading goes, and how it is to be taken."""

    name: str
    known: bool  # a loss or a metric that has a name of its own
    evaluated: bool  # on held-out data
    counted: bool  # of 9842/10000 the share is meant
    repeated: bool  # a bar may print it again until there is a new one


@lru_cache(maxsize=10_000)
def column_of(name: str, section: str, split: str) -> ColumnName | None:
    """The column of a name in a `section` of a line that measures `split`; None if it is not a reading."""
    meaning = read_name(name)
    if meaning.kind == "other" and ": " in name:  # `Averaged stats: lr`
        name = name.rsplit(": ", 1)[-1]
        meaning = read_name(name)
    if not name or len(name) > MAX_NAME_LENGTH or meaning.kind in ("epoch", "clock"):
        return None
    known = meaning.kind == "loss" or is_known(meaning.words)
    words = set(name.lower().split())
    if TELLING & words or (meaning.kind == "metric" and ((len(words) > 1 and not known) or FILLERS & words)):
        return None  # `accuracy of the network on the 10000 test images`: a sentence, not a name
    judged = meaning.kind in ("loss", "metric")
    measured = section or split
    if judged and meaning.split in ("val", "test") and not meaning.owner:
        name = f"{meaning.split}/{meaning.metric}"  # `Validation: loss` and `[eval] … loss` are one
    elif judged and measured in ("val", "test") and not _says_split(name):
        name = f"{measured}/{meaning.metric}"
    elif judged and section == "train" and not _says_split(name):
        name = f"train/{meaning.metric}"
    evaluated = "val" in (measured, meaning.split)
    final = read_name(name)
    return ColumnName(name, known, evaluated, meaning.kind == "metric", final.split == "val" or final.over == "epoch")


@lru_cache(maxsize=10_000)
def has_training_loss(names: tuple[str, ...], sections: tuple[str, ...], split: str) -> bool:
    for name, section in zip(names, sections, strict=True):
        meaning = read_name(name)
        if meaning.kind == "loss" and (meaning.split or section or split or "train") == "train":
            return True
    return False


@lru_cache(maxsize=10_000)
def told_apart(names: tuple[str, ...]) -> tuple[str, ...]:
    """`Train Loss: 1 | Acc: 0.5 | Val Loss: 2 | Acc: 0.4`: a name that comes twice belongs to the split before it.

    In `loss train: 1, val: 2` the second is the same in another split.
    """
    names = tuple(_as_the_one_before(name, before) for name, before in zip(names, ("", *names), strict=False))
    if len(set(names)) == len(names):
        return names
    apart, split = [], ""
    for name in names:
        meaning = read_name(name)
        split = meaning.split if _says_split(name) else split
        again = split in ("val", "test") and meaning.kind == "metric" and names.count(name) > 1
        apart.append(f"{split}/{meaning.metric}" if again and not _says_split(name) else name)
    return tuple(apart)


def _as_the_one_before(name: str, before: str) -> str:
    split = SPLITS.get(name.lower())
    meaning = read_name(before)
    if split is None or meaning.kind not in ("loss", "metric"):
        return name
    if split == "train" and not meaning.split:  # `Loss: 1, Train: 0.9`: a loss is of the training anyway
        return name
    return f"{split}/{meaning.metric}"


def _says_split(name: str) -> bool:
    return any(word in SPLITS for word in split_words(name))
