"""The stretches of a curve between restarts: across a restart a level may change for reasons of its own."""

from __future__ import annotations

from bedside.record.run import Run
from bedside.record.series import Series

RESTARTS = ("resume",)  # event kinds that begin a new stretch


def segments(run: Run, series: Series) -> list[Series]:
    """`series` cut at the run's resumes; one piece when there was none, none when it is empty."""
    cuts = sorted({event.step for event in run.events if event.kind in RESTARTS})
    pieces: list[Series] = []
    rest = series
    for step in cuts:
        piece, rest = rest.before(step), rest.since(step)
        if piece:
            pieces.append(piece)
    return [*pieces, rest] if rest else pieces
