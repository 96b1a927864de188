"""What a check is: a page, limits with an origin each, and one function from a Setup to an answer.

    @check("PRE104", severity=Severity.WARNING, limits=Limits(), needs=[LOSS])
    def initial_loss(setup: Setup, limits: Limits) -> Passed | Finding: ...

The function's name is the check's name (with dashes), and its module's docstring is the check's page. A check that
has too little to look at raises `NotEnough("what it would need")`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.errors import BedsideError, NotEnough
from bedside.finding import Finding, NotExamined, Severity
from bedside.preflight.setup import Setup
from bedside.wording import printable


@dataclass(frozen=True)
class Passed:
    """A check that found nothing: what it saw in a few words, and the numbers behind it."""

    code: str
    name: str
    message: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code} {self.name}: {self.message}"


MAX_MESSAGE_LENGTH = 120  # characters of somebody else's error message

Answer = Passed | Finding | NotExamined
Function = Callable[[Setup, Any], Passed | Finding]


@dataclass(frozen=True)
class Check:
    """One entry of the catalogue; `examine` looks, `passed` and `finding` answer in this check's name."""

    code: str
    name: str
    severity: Severity
    needs: tuple[str, ...]
    limits: Any
    page: str
    function: Function
    depth: str = "fast"
    preview: bool = False
    preview_since: str = ""

    @property
    def title(self) -> str:
        """The first line of the page: the check in one sentence."""
        return self.page.strip().splitlines()[0]

    def examine(self, setup: Setup, limits: Any = None) -> Answer:
        """Passed, found or not examined; whatever the user's code raises on the way is a reason not to have looked."""
        if self.depth == "full" and setup.depth != "full":
            return NotExamined(self.code, self.name, ("depth='full'",))
        if missing := [reason for need in self.needs if (reason := setup.lacks(need))]:
            return NotExamined(self.code, self.name, tuple(missing))
        try:
            return self.function(setup, limits if limits is not None else self.limits)
        except NotEnough as too_little:
            return NotExamined(self.code, self.name, (too_little.needs,))
        except BedsideError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0][:MAX_MESSAGE_LENGTH]
            return NotExamined(self.code, self.name, (printable(what),), broken=True)

    def passed(self, message: str, **numbers: Any) -> Passed:
        return Passed(self.code, self.name, message, numbers)

    def finding(
        self,
        message: str,
        *,
        try_: Sequence[str],
        confidence: float = 0.9,
        where: Sequence[str] = (),
        evidence: Mapping[str, Any] | None = None,
        could_also_be: Sequence[str] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this check; `severity` may differ from the check's own when the case is milder or worse."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            confidence=confidence,
            first_step=0,
            last_step=0,
            where=tuple(where),
            evidence=dict(evidence or {}),
            could_also_be=tuple(filter(None, could_also_be)),
            try_=tuple(filter(None, try_)),
        )


def check(
    code: str, *, severity: Severity, limits: Any, needs: Sequence[str] = (), depth: str = "fast"
) -> Callable[[Function], Check]:
    """Make a Check of a function; its module's docstring becomes the page."""

    def make(function: Function) -> Check:
        return Check(
            code=code,
            name=function.__name__.replace("_", "-"),
            severity=severity,
            needs=tuple(needs),
            limits=limits,
            page=(sys.modules[function.__module__].__doc__ or "").strip(),
            function=function,
            depth=depth,
        )

    return make
