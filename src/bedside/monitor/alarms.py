"""Live alarms: look at the growing run now and then, and speak when something begins, once.

Looking costs time, so it pays for itself out of a fixed share of the run's own time: the dearer a look, the rarer;
only in the first few hundred steps may looks take a little more, or a short run would be over before the second. A
loss that is no longer finite is looked at at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.collect.sampling.intervals import GRACE_STEPS
from bedside.diagnosis.engine import as_story, run_rules
from bedside.errors import say
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules import CATALOGUE, Rule
from bedside.wording import printable

SHARE = 0.0015  # of the run's time, where there is no budget to take a part of
GRACE = 0.5  # seconds in all that early looks may take besides, so that a short run is alarmed while it runs
SPACING = 0.1  # of the run: within the grace the next look waits until the run has grown by this much


class Alarms:
    """Evaluates the catalogue over the growing run and hands each new finding to `speak`, once."""

    def __init__(
        self,
        view: Callable[[], Run],
        speak: Callable[[Finding], None],
        share: float = SHARE,
        rules: Sequence[Rule] = CATALOGUE,
    ) -> None:
        self._view = view
        self._speak = speak
        self._share = share
        self._rules = [each for each in rules if not each.preview]  # what is on trial neither alarms nor explains
        self._said: dict[str, Severity] = {}
        self._began = time.perf_counter()
        self._finite = True
        self._step = self._looked_at = 0  # the newest step, and the one at which it was last looked
        self.spent = 0.0  # seconds, early looks left out
        self._spent_early = 0.0
        self._dearest = 0.0  # what the next look may well take: it is paid for beforehand
        self.looks = 0

    def due(self, step: int, losses: NDArray[np.float64]) -> bool:
        """Whether to look now, given the newest step and the losses up to it."""
        finite = bool(np.isfinite(losses).all()) if len(losses) else self._finite
        turned, self._finite = self._finite and not finite, finite
        self._step = step
        elapsed = time.perf_counter() - self._began
        grown = self._step >= (1 + SPACING) * self._looked_at
        early = self._step < GRACE_STEPS and self._spent_early < GRACE and grown
        return turned or self.looks == 0 or early or self.spent + self._dearest < self._share * elapsed

    def look(self, prepare: Callable[[], None] = lambda: None) -> float:
        """Ask all rules and say what is new. Returns the seconds it took, with what had to be prepared for it."""
        started = time.perf_counter()
        prepare()
        run = self._view()
        found, _, _ = run_rules(run, self._rules)
        new = [f for f in as_story(run, found) if self._is_new(f)] if any(map(self._is_new, found)) else []
        self.looks += 1
        self._looked_at = self._step
        took = time.perf_counter() - started
        self._dearest = max(took, 0.5 * self._dearest)
        if self._step < GRACE_STEPS and self._spent_early < GRACE:
            self._spent_early += took
        else:  # a run of slow steps is early for hours: its looks count like any other's
            self.spent += took
        for finding in new:
            self._said[finding.code] = finding.severity
            self._speak(finding)
        return took

    def _is_new(self, finding: Finding) -> bool:
        if finding.preview or finding.severity < Severity.WARNING:
            return False
        return finding.severity > self._said.get(finding.code, Severity.NOTE)


class Voice:
    """Says a finding to the user: a line on stderr, unless they want silence, and a call of their own function."""

    def __init__(self, on_finding: Callable[[Finding], None] | None, *, silent: bool) -> None:
        self.silent = silent
        self.theirs: Exception | None = None  # what on_finding raised
        self._on_finding = on_finding

    def say(self, finding: Finding) -> None:
        if not self.silent:
            print_alarm(finding)
        if self._on_finding is not None and self.theirs is None:
            try:
                self._on_finding(finding)
            except Exception as theirs:
                self.theirs = theirs
                raise


def print_alarm(finding: Finding) -> None:
    """One line on stderr: when, what, where, and the sentence with the number."""
    say(alarm_line(finding))


def alarm_line(finding: Finding) -> str:
    where = f" in {', '.join(finding.where[:3])}{' …' if len(finding.where) > 3 else ''}" if finding.where else ""
    return printable(f"bedside: step {finding.first_step}: {finding.code} {finding.name}{where}: {finding.message}")
