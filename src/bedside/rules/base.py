"""What a rule is: a page, limits with an origin each, and one pure function from a Run to Findings.

    @rule("GRD101", severity=Severity.WARNING, needs=[GRAD_NORM.per_owner], limits=Limits(), preview_since="0.1")
    def vanishing_gradient(run: Run, limits: Limits) -> Iterator[Finding]: ...

The function's name is the rule's name (with dashes), and its module's docstring is the rule's page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from bedside.errors import NotEnough, unknown_name
from bedside.finding import Finding, NotExamined, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import Need, Vital

Check = Callable[[Run, Any], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """One entry of the catalogue; `check` looks, `finding` speaks in this rule's name."""

    code: str
    name: str
    severity: Severity
    needs: tuple[Need, ...]
    limits: Any
    page: str
    function: Check
    preview_since: str = ""  # "" once the scoreboard has made it stable

    @property
    def preview(self) -> bool:
        return bool(self.preview_since)

    @property
    def title(self) -> str:
        """The first line of the page: the rule in one sentence."""
        return self.page.strip().splitlines()[0]

    def missing(self, run: Run) -> list[Need]:
        """Which of its needs this run cannot meet."""
        return [need for need in self.needs if not run.has(need.vital, per_owner=bool(need.per))]

    def check(self, run: Run, limits: Any = None) -> list[Finding]:
        """What the rule finds; an empty list also when the run is too short for it."""
        found = self.examine(run, limits)
        return found if isinstance(found, list) else []

    def examine(self, run: Run, limits: Any = None) -> list[Finding] | NotExamined:
        """Found, healthy (an empty list), or not examined: the three answers."""
        missing = self.missing(run)
        if missing:
            return NotExamined(self.code, self.name, tuple(str(need) for need in missing))
        try:
            return list(self.function(run, limits if limits is not None else self.limits))
        except NotEnough as too_short:
            return NotExamined(self.code, self.name, (too_short.needs,))

    def finding(
        self,
        message: str,
        *,
        first_step: int,
        last_step: int,
        confidence: float,
        where: Sequence[str] = (),
        evidence: Mapping[str, Any] | None = None,
        series: Sequence[str] = (),
        could_also_be: Sequence[str] = (),
        try_: Sequence[str] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule. `severity` may differ from the rule's own when the case is milder or worse."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            confidence=confidence,
            first_step=int(first_step),
            last_step=int(last_step),
            where=tuple(where),
            evidence=dict(evidence or {}),
            series=tuple(series),
            could_also_be=tuple(filter(None, could_also_be)),
            try_=tuple(filter(None, try_)),  # advice whose precondition does not hold is empty
            preview=self.preview,
        )

    def with_limits(self, **changes: Any) -> Rule:
        """The same rule with some of its limits changed, as settings do; unknown names are refused."""
        known = [field.name for field in fields(self.limits)]
        for name in changes:
            if name not in known:
                raise unknown_name(f"limit of {self.name}", name, known)
        return replace(self, limits=replace(self.limits, **changes))


def rule(
    code: str,
    *,
    severity: Severity,
    needs: Sequence[Vital | Need],
    limits: Any,
    preview_since: str = "",
) -> Callable[[Check], Rule]:
    """Make a Rule of a function; its module's docstring becomes the page."""

    def make(function: Check) -> Rule:
        return Rule(
            code=code,
            name=function.__name__.replace("_", "-"),
            severity=severity,
            needs=tuple(Need(n.name) if isinstance(n, Vital) else n for n in needs),
            limits=limits,
            page=(sys.modules[function.__module__].__doc__ or "").strip(),
            function=function,
            preview_since=preview_since,
        )

    return make
