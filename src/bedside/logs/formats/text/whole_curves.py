"""Whole curves in a line: `train_loss = [2.3, 1.9, …]`, or the dictionary that a program prints when it is done.

>>> curves_in("{'loss': [2.5, 2.0, 1.5, 1.2, 1.0], 'val_loss': [2.6, 2.2, 1.9, 1.8, 1.8]}")["val_loss"]
[2.6, 2.2, 1.9, 1.8, 1.8]
>>> curves_in("losses: [0.1, 0.2, 0.3]")
{}
"""

from __future__ import annotations

import re

from bedside.logs.log import Column, Log
from bedside.naming.metric_names import read_name

FEWEST = 5  # numbers: fewer are the values of one moment
_NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|[-+]?nan|[-+]?inf"
_CURVE = re.compile(
    rf"(?P<name>[A-Za-z_][\w/.-]{{0,60}}(?: [\w/.-]{{1,30}}){{0,3}})['\"]?\s?[:=]\s?(?:np\.array\(|array\(|tensor\()?"
    rf"\[\s?(?P<values>(?:{_NUMBER})(?:,?\s{{1,4}}(?:{_NUMBER})|,(?:{_NUMBER})){{{FEWEST - 1},}})"
)


def curves_in(line: str) -> dict[str, list[float]]:
    """The losses and metrics that the line has whole curves of."""
    found = {}
    for match in _CURVE.finditer(line) if line.count("[") and len(line) > 2 * FEWEST else ():
        meaning = read_name(match["name"])
        if meaning.kind == "loss" or (meaning.kind == "metric" and meaning.words):
            found[match["name"]] = [float(each) for each in re.split(r"[,\s]+", match["values"].strip())]
    return found


def add_curves(log: Log, curves: dict[str, list[float]]) -> bool:
    """The longest curve of each name as a reading per epoch, where the log has nothing better to tell it by."""
    if not curves or any(len(column) >= FEWEST for column in log.columns.values()):
        return False
    for name, values in curves.items():
        log.columns[name] = Column.of((float(at), value, float(at)) for at, value in enumerate(values, 1))
    log.note("Whole curves stand in single lines: their numbers were counted as epochs.")
    return True
