"""What an instrument is: a title, one sentence of numbers, and the curves that a page, a PNG or a notebook draws.

The words are made here and nowhere else; the front end (`web/`) and matplotlib only draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from bedside.record.run import Run
from bedside.record.series import Series

# The order of the page. A section without an instrument is left out.
SECTIONS = {
    "loss": "Loss",
    "metrics": "Metrics",
    "gradients": "Gradients",
    "updates": "Weights and updates",
    "activations": "Activations",
    "numerics": "Numerics and timing",
    "histograms": "Histograms",
    "other": "Everything else that was recorded",
}


@dataclass(frozen=True)
class Line:
    """One curve of a chart."""

    key: str  # of the series
    label: str
    role: str = "other"  # training, validation, limit or other: decides the colour
    smooth: int = 0  # readings to average over for a second, smoothed line; 0 for none


@dataclass(frozen=True)
class Level:
    """A horizontal line that a curve is read against: a limit, a threshold, the level of a blind guess."""

    value: float
    label: str


@dataclass(frozen=True)
class Range:
    """A shaded band: where the curve usually lies in healthy runs."""

    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A vertical line: something began at this step."""

    step: int
    label: str


@dataclass(frozen=True)
class Panel:
    """One instrument, read from one run."""

    id: str
    section: str
    title: str
    say: str = ""  # what the reader should take away, with the numbers
    kind: str = "lines"  # lines, layers or histograms
    lines: Sequence[Line] = ()
    levels: Sequence[Level] = ()
    ranges: Sequence[Range] = ()
    marks: Sequence[Mark] = ()
    gap: Sequence[str] = ()  # keys of two lines: the area between them is shaded
    log: bool = False
    slim: bool = False  # half as high: a learning rate under the loss
    folded: bool = False  # shown when it is asked for
    extra: dict[str, Any] = field(default_factory=dict)  # what only this kind of panel has
    series: Sequence[Series] = field(default=(), repr=False)  # the readings that the lines name

    def to_json(self) -> dict[str, Any]:
        """Without the readings: those of all panels go into one table of curves."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "series"}
        for name in ("lines", "levels", "ranges", "marks"):
            plain[name] = [vars(each) for each in plain[name]]
        plain["gap"] = list(self.gap)
        return plain


@dataclass(frozen=True)
class Instrument:
    """Something that can be shown of a run; cheap to list, read when it is asked for."""

    id: str
    section: str
    title: str
    read: Callable[[Run], Panel | None] = field(repr=False)
    folded: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "section": self.section, "title": self.title, "folded": self.folded}
