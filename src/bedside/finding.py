"""A Finding is a sentence with an address and a number; a Diagnosis is what was found, and what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from bedside.rendering import render

if TYPE_CHECKING:
    from bedside.comparison.result import Comparison


class Severity(IntEnum):
    """How bad: `error` the run is being ruined, `warning` it probably costs you, `note` is never an alarm."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Advice(str):
    """One thing to try: a sentence that knows what it turns up (+1) or down (-1), where it turns anything.

    >>> Advice("Lower the learning rate tenfold.", "learning rate", -1).turn
    -1
    """

    knob: str
    turn: int

    def __new__(cls, text: str, knob: str = "", turn: int = 0) -> Advice:
        made = super().__new__(cls, text)
        made.knob, made.turn = knob, turn
        return made

    def __reduce__(self) -> tuple[type[Advice], tuple[str, str, int]]:
        return Advice, (str(self), self.knob, self.turn)


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
    around: tuple[str, ...] = ()  # what else happened within a few steps of the onset

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
    """A rule that could not be applied, and what it would have needed."""

    code: str
    name: str
    needs: tuple[str, ...]
    broken: bool = False  # it raised, which is a fault of ours and not of the run

    def __str__(self) -> str:
        return f"{self.code} {self.name}: needs {', '.join(self.needs)}"


@dataclass(frozen=True)
class Outcome:
    """What an experiment may show, and what it then was."""

    seen: str
    means: str


@dataclass(frozen=True)
class Experiment:
    """One experiment that decides between causes, cheap enough to do before the next long run."""

    name: str
    cost: str
    do: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Hypothesis:
    """One of several causes that fit, and what the run itself says for and against it."""

    name: str
    title: str
    weight: float  # among those considered, which add up to 1
    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]
    test: Experiment | None  # the experiment that would confirm it; None for the harmless explanation


@dataclass(frozen=True)
class Differential:
    """A question that the record alone cannot settle: its answers, heaviest first, and the test that would decide."""

    question: str
    first_step: int
    hypotheses: tuple[Hypothesis, ...]
    about: str = ""  # code of the finding in question, "" if there is none

    @property
    def heaviest(self) -> Hypothesis:
        return self.hypotheses[0]

    @property
    def test(self) -> Experiment | None:
        """The one test to do: it confirms the heaviest cause, or rules out the likeliest that is not harmless."""
        return next((each.test for each in self.hypotheses if each.test is not None), None)


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
    reason: str = ""  # of the verdict, in one line
    settled_by: str = ""  # what would settle an unclear verdict
    axis: str = "step"  # what the log counts in: step, epoch, tokens or time
    differential: tuple[Differential, ...] = ()  # where several causes fit
    baseline: Comparison | None = None  # the run beside a good one, if it was given one

    @property
    def primary(self) -> Finding | None:
        return next((finding for finding in self.findings if finding.primary), None)

    def at_least(self, severity: Severity) -> list[Finding]:
        """Findings that may fail a gate at this severity; previews never do."""
        return [f for f in self.findings if f.severity >= severity and not f.preview]

    def to_json(self) -> dict[str, Any]:
        """The JSON contract: see docs/reports.md."""
        answer: dict[str, Any] = render("diagnosis as json", self)
        return answer

    def to_text(self, *, verbose: bool = False) -> str:
        """The report on one screen; `verbose` adds numbers, hypotheses and what was not examined."""
        return str(render("diagnosis as text", self, verbose=verbose))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return str(render("diagnosis as html", self))
