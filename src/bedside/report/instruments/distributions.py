"""Histograms over time, of weights, gradients and activations, where the run kept them.

A bin is a sign and a power of two (`record/histograms.py`), so a column of the map is one step and a row one bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.record.histograms import EDGES, OF, ZERO, histograms, owners
from bedside.record.run import Run
from bedside.report.instruments.panel import Instrument, Panel
from bedside.wording import number, plural

MAX_STEPS = 60  # columns
MAX_OWNERS = 24  # of one kind in a report: a page has to stay small


def histogram_instruments(run: Run) -> list[Instrument]:
    found = []
    for of in OF:
        if owners(run, of):

            def read(run: Run, of: str = of) -> Panel | None:
                return histogram_panel(run, of)

            found.append(Instrument(f"histograms:{of}", "histograms", f"Histograms of {of}", read))
    return found


def histogram_panel(run: Run, of: str) -> Panel | None:
    every = owners(run, of)
    if not every:
        return None
    chosen = every if len(every) <= MAX_OWNERS else every[:: -(-len(every) // MAX_OWNERS)]
    said = f"{plural(len(every), 'tensor' if of != 'activations' else 'module')}"
    if len(chosen) < len(every):
        said += f", {len(chosen)} of them shown"
    return Panel(
        f"histograms:{of}",
        "histograms",
        f"Histograms of {of}",
        say=said + ". Rows are powers of two, negative below and positive above zero.",
        kind="histograms",
        extra={"owners": [_of_one(run, of, owner) for owner in chosen]},
    )


def _of_one(run: Run, of: str, owner: str) -> dict[str, Any]:
    found = histograms(run, of, owner)
    found = found[:: max(1, -(-len(found) // MAX_STEPS))]
    counts = np.array([each.counts for each in found])
    used = np.flatnonzero(counts.sum(axis=0))
    low, high = int(used[0]), int(used[-1]) + 1
    shares = counts[:, low:high] / counts.sum(axis=1, keepdims=True)
    return {
        "owner": owner,
        "steps": [each.step for each in found],
        "rows": [_bin(index) for index in range(low, high)],
        "shares": np.round(shares, 4).tolist(),
    }


def _bin(index: int) -> str:
    """`0.5 to 1`, `-4 to -2`, `0`."""
    if index == ZERO:
        return "0"
    low, high = float(EDGES[index]), float(EDGES[index + 1])
    return f"{number(low)} to {number(high)}"
