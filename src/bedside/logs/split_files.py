"""One run in a file per split: `train.csv` and `val.csv` beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bedside.logs.log import Log
from bedside.naming.name_parts import SPLITS, split_words


def read_by_split(paths: Sequence[Path], read_one: Callable[[Path], Log]) -> Log:
    """All files as one log; a metric that names no split belongs to its file's."""
    whole = read_one(paths[0])
    if len(paths) == 1:
        return whole
    whole.columns = {}
    for path in paths:
        log = read_one(path)
        split = SPLITS.get(path.stem.lower(), "")
        for name, column in log.columns.items():
            said = any(word in SPLITS for word in split_words(name))
            whole.columns[name if said or not split else f"{split}/{name}"] = column
        whole.notes += [note for note in log.notes if note not in whole.notes]
    whole.note(f"{len(paths)} files were read as one run: {', '.join(path.name for path in paths)}.")
    return whole
