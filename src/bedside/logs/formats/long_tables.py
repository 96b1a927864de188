"""Tables that are long instead of wide: a column of words says what the numbers of its row are of.

`epoch,split,loss` has a row per split; `step,metric,value` has a row per reading. TensorBoard exports one curve to a
file, whose name is the metric's.

>>> words = Words({"train": 0, "val": 1}, np.array([0.0, 1.0]))
>>> epoch, loss = np.array([1.0, 1.0]), np.array([2.0, 3.0])
>>> widened(["epoch", "split", "loss"], [epoch, words.codes, loss], {1: words})[0]
['epoch', 'train/loss', 'val/loss']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bedside.logs.hidden_nan import Numbers
from bedside.logs.numbers import number
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS
from bedside.record.missing import MISSING, is_missing

SAY_SPLIT = frozenset("split phase mode stage subset set dataset partition".split())
SAY_METRIC = frozenset("metric name tag key variable".split())
VALUE = "value"
MAX_WORDS = 500  # different ones in a column: more is talk
TENSORBOARD = ["wall time", "step", VALUE]  # what its page exports


@dataclass
class Words:
    """A column of words, as numbers that stand for them."""

    known: dict[str, int] = field(default_factory=dict)
    codes: Numbers = field(default_factory=lambda: np.empty(0))

    def code(self, cell: str) -> float:
        word = cell.strip()
        code = self.known.get(word)
        if code is None and word and len(self.known) < MAX_WORDS:
            code = self.known[word] = len(self.known)
        return MISSING if code is None else float(code)


def columns_of_words(names: Sequence[str]) -> dict[int, Words]:
    """The columns of such a header that say what a row is of."""
    lower = [name.lower() for name in names]
    wanted = SAY_SPLIT | (SAY_METRIC if VALUE in lower else frozenset())
    return {at: Words() for at, name in enumerate(lower) if name in wanted}


def is_long(names: Sequence[str]) -> bool:
    """Whether a column names the metric of each row."""
    lower = {name.lower() for name in names}
    return VALUE in lower and bool(lower & SAY_METRIC)


def exported_curve(path: Path, names: Sequence[str]) -> str:
    """The metric that a file from TensorBoard's page holds, by the name of the file; empty if it is none."""
    if [name.lower() for name in names] != TENSORBOARD:
        return ""
    tag = path.stem.rpartition("tag-")[2]
    return tag if read_name(tag).kind in ("loss", "metric", "lr", "grad_norm") else ""


def widened(
    names: Sequence[str], columns: Sequence[Numbers], words: Mapping[int, Words]
) -> tuple[list[str], list[Numbers]]:
    """The same table with a column for each split or metric; as it is where the words say nothing."""
    wide, numbers = list(names), list(columns)
    dropped = set()
    for at, column in words.items():
        if all(number(word) is not None for word in column.known):  # stage 1, stage 2
            values_of = np.array([number(word) for word in column.known] or [MISSING], np.float64)
            codes = np.where(is_missing(column.codes), 0, column.codes).astype(int)
            numbers[at] = np.where(is_missing(column.codes), MISSING, values_of[codes])
            continue
        dropped.add(names[at])
    for at, column in words.items():
        metric = names[at].lower() in SAY_METRIC
        said = {code: word if metric else SPLITS.get(word.lower(), "") for word, code in column.known.items()}
        if not said or not all(said.values()) or (not metric and set(said.values()) == {"train"}):
            continue
        found, values = [], []
        for name, numbers_of_it in zip(wide, numbers, strict=True):
            meaning = read_name(name)
            told = name.lower() == VALUE if metric else meaning.kind in ("loss", "metric") and not meaning.split
            if not told:
                found.append(name)
                values.append(numbers_of_it)
                continue
            for word in dict.fromkeys(said.values()):
                mine = np.isin(column.codes, [code for code, each in said.items() if each == word])
                found.append(word if metric else f"{word}/{name}")
                values.append(np.where(mine, numbers_of_it, MISSING))
        wide, numbers = found, values
    kept = [at for at, name in enumerate(wide) if name not in dropped]
    return [wide[at] for at in kept], [numbers[at] for at in kept]
