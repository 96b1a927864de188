"""Live alarms: look at the growing run now and then, and speak when something begins, once.

Looking costs time, so it pays for itself out of a fixed share of the run's own time: the dearer a look, the rarer.
A loss or gradient that is no longer finite is looked at at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from bedside.diagnose import examine
from bedside.finding import Finding, Severity
from bedside.record.run import Run

SHARE = 0.003  # of the run's time, where there is no budget to take a part of


class Alarms:
    """Evaluates the catalogue over the growing run and hands each new finding to `speak`, once."""

    def __init__(self, view: Callable[[], Run], speak: Callable[[Finding], None], share: float = SHARE) -> None:
        self._view = view
        self._speak = speak
        self._share = share
        self._said: dict[str, Severity] = {}
        self._began = time.perf_counter()
        self.spent = 0.0
        self.looks = 0

    def due(self) -> bool:
        elapsed = time.perf_counter() - self._began
        return self.looks == 0 or self.spent < self._share * elapsed

    def look(self) -> list[Finding]:
        """Ask all rules; returns what is new."""
        started = time.perf_counter()
        new = [f for f in examine(self._view()).findings if self._is_new(f)]
        self.looks += 1
        self.spent += time.perf_counter() - started
        for finding in new:
            self._said[finding.code] = finding.severity
            self._speak(finding)
        return new

    def _is_new(self, finding: Finding) -> bool:
        if finding.preview or finding.severity < Severity.WARNING:
            return False
        return finding.severity > self._said.get(finding.code, Severity.NOTE)


def print_alarm(finding: Finding) -> None:
    """One line on stderr: when, what, where, and the sentence with the number."""
    print(alarm_line(finding), file=sys.stderr, flush=True)


def alarm_line(finding: Finding) -> str:
    where = f" in {', '.join(finding.where[:3])}{' …' if len(finding.where) > 3 else ''}" if finding.where else ""
    return f"bedside: step {finding.first_step}: {finding.code} {finding.name}{where}: {finding.message}"
