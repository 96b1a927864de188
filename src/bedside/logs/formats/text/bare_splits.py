"""Numbers that have no name but that of their split: `Epoch: 001, Loss: 1.9, Train: 0.35, Val: 0.31, Test: 0.30`.

The loss stands before them under its own name, so they are the score that such a program is about. They are taken for
one if they are shares, and went up while the loss went down. Where no loss stands anywhere, as in
`Iter 50: train=2.1 val=2.3`, and the training's came down, they are the loss themselves.

>>> log = Log("text")
>>> for epoch in range(6):
...     for name, value in (("Loss", 2.0 - 0.3 * epoch), ("Train", 0.2 + 0.1 * epoch), ("Val", 0.2 + 0.08 * epoch)):
...         log.add(name, epoch, value, epoch)
>>> name_bare_splits(log)
>>> list(log.columns)
['Loss', 'train/score', 'val/score']
"""

from __future__ import annotations

from statistics import median

from bedside.logs.log import Column, Log
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS

FEWEST = 5  # readings: a median of the first and of the last few
FELL = 0.1  # of its start: a score that is meant to rise does not fall as far
ENDS = 3  # readings at either end


def name_bare_splits(log: Log) -> None:
    bare = [name for name, column in log.columns.items() if name.lower() in SPLITS and len(column) >= FEWEST]
    losses = [
        column
        for name, column in log.columns.items()
        if read_name(name).kind == "loss" and not read_name(name).split and len(column) >= FEWEST
    ]
    if len(bare) < 2:
        return
    if not any(read_name(name).kind == "loss" for name in log.columns):
        _name_losses(log, bare)
        return
    if not losses or _change(losses[0]) >= 0:
        return
    if not all(min(log.columns[name].values) >= 0 and max(log.columns[name].values) <= 100 for name in bare):
        return
    if sum(_change(log.columns[name]) for name in bare) <= 0:
        return
    log.columns = {
        (f"{SPLITS[name.lower()]}/score" if name in bare else name): column for name, column in log.columns.items()
    }


def _name_losses(log: Log, bare: list[str]) -> None:
    trained = [log.columns[name] for name in bare if SPLITS[name.lower()] == "train"]
    if not trained or _change(trained[0]) >= -FELL * abs(median(trained[0].values[:ENDS])):
        return
    log.columns = {
        (f"{SPLITS[name.lower()]}/loss" if name in bare else name): column for name, column in log.columns.items()
    }


def _change(column: Column) -> float:
    return median(column.values[-ENDS:]) - median(column.values[:ENDS])
