"""A Finding is a sentence with an address and a number; a Diagnosis is what was found, and what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any


class Severity(IntEnum):
    """How bad: `error` the run is being ruined, `warning` it probably costs you, `note` is never an alarm."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a run: what, where, since when, how sure, what else, and what to try."""

    code: str
    name: str
    severity: Severity
    message: str
    confidence: float
    first_step: int
    last_step: int
    where: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    series: tuple[str, ...] = ()  # keys of the series a reader may want to see
    could_also_be: tuple[str, ...] = ()
    try_: tuple[str, ...] = ()  # most likely first, with the number to type
    causes: tuple[str, ...] = ()  # codes of the findings that brought this one about
    primary: bool = False
    preview: bool = False  # shown, but never fails a gate

    def __str__(self) -> str:
        return f"{self.code} {self.name}: {self.message}"

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What makes it the same finding when the run has grown: its rule and its place."""
        return (self.code, self.where)

    def with_(self, **changes: Any) -> Finding:
        return replace(self, **changes)


@dataclass(frozen=True)
class NotExamined:
    """A rule that could not look, and what it would have needed."""

    code: str
    name: str
    needs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.code} {self.name}: needs {', '.join(self.needs)}"


class NotEnough(Exception):
    """Raised by a rule that has its vitals but too little of them: `NotEnough("50 steps of loss, has 12")`."""

    def __init__(self, needs: str) -> None:
        self.needs = needs
        super().__init__(needs)


@dataclass(frozen=True)
class Failure:
    """A run among many that could not be looked at, and the three lines that say why."""

    run: str
    error: str


@dataclass(frozen=True)
class Diagnosis:
    """The answer: a verdict, the findings (primary first), and what could not be examined."""

    run: str
    format: str
    steps: int
    verdict: str  # sick, healthy, unclear
    findings: tuple[Finding, ...]
    not_examined: tuple[NotExamined, ...]
    examined: tuple[str, ...] = ()  # codes of the rules that looked
    notes: tuple[str, ...] = ()  # about this log
    pictures: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)  # thinned curves to show
    axis: str = "step"  # what the log counts in: step, epoch, tokens or time

    @property
    def primary(self) -> Finding | None:
        return next((finding for finding in self.findings if finding.primary), None)

    def at_least(self, severity: Severity) -> list[Finding]:
        """Findings that may fail a gate at this severity; previews never do."""
        return [f for f in self.findings if f.severity >= severity and not f.preview]

    def to_json(self) -> dict[str, Any]:
        from bedside.report.json import diagnosis_to_json

        return diagnosis_to_json(self)

    def __str__(self) -> str:
        from bedside.report.text import diagnosis_to_text

        return diagnosis_to_text(self)

    def _repr_html_(self) -> str:
        from bedside.report.html import diagnosis_to_html

        return diagnosis_to_html(self)
