"""The score in a few numbers, and as a table of specimens with their misses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bedside.zoo.grading import Row

# What a monitor must reach to be believed.
TARGETS = {"caught": 0.95, "primary": 0.90, "in time": 0.85, "false alarms": 0.02}


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part}/{self.whole} ({100 * self.value:.0f} %)" if self.whole else "–"

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else 0.0


def shares(rows: Sequence[Row]) -> dict[str, Share]:
    """Caught, primary, exact, in time, and healthy runs alarmed."""
    sick = [row for row in rows if row.sick]
    healthy = [row for row in rows if not row.sick]
    caught = [row for row in sick if row.caught == "yes"]
    return {
        "caught": Share(len(caught), len(sick)),
        "caught by a preview only": Share(sum(row.caught == "preview" for row in sick), len(sick)),
        "primary": Share(sum(row.primary == "yes" for row in sick), len(sick)),
        "exact": Share(sum(row.exact == "yes" for row in sick), len(sick)),
        "in time": Share(sum(row.in_time for row in caught), len(caught)),
        "false alarms": Share(sum(bool(row.false_alarms) for row in healthy), len(healthy)),
        "passing alarms": Share(sum(bool(row.passing) for row in healthy), len(healthy)),
        "really failing": Share(sum(row.harmed == "yes" for row in sick), len(sick)),
    }


@dataclass(frozen=True)
class Line:
    """One specimen over all its severities and seeds."""

    specimen: str
    caught: str
    primary: str
    delay: str
    false_alarms: str
    instead: str  # what was said where it was missed, and what was said of healthy runs


def lines(rows: Sequence[Row]) -> list[Line]:
    names = dict.fromkeys(row.specimen for row in rows)
    return [_line(name, [row for row in rows if row.specimen == name]) for name in names]


def _line(name: str, rows: Sequence[Row]) -> Line:
    sick = [row for row in rows if row.sick]
    healthy = [row for row in rows if not row.sick]
    delays = [int(row.delay) for row in sick if row.delay]
    wrong = [row for row in sick if row.caught != "yes" or row.primary != "yes"]
    said = [row.found for row in wrong] + [row.false_alarms for row in healthy]
    return Line(
        name,
        f"{sum(row.caught == 'yes' for row in sick)}/{len(sick)}" if sick else "",
        f"{sum(row.primary == 'yes' for row in sick)}/{len(sick)}" if sick else "",
        f"{median(delays):.0f}" if delays else "",
        f"{sum(bool(row.false_alarms) for row in healthy)}/{len(healthy)}",
        _most_common(word for names in said for word in names.split()),
    )


def _most_common(words: Iterable[str]) -> str:
    counted: dict[str, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    return ", ".join(sorted(counted, key=lambda word: -counted[word])[:3])
