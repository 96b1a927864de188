"""Live alarms: run the rules over the growing run now and then, and report each new finding once.

Running the rules costs time, so it gets a fixed share of the run's own time: the longer one pass takes, the rarer
passes are. In the first few hundred steps they may take a little more, or a short run would be over before the second
pass. A loss that is no longer finite triggers a pass at once. Findings are not reported at once: `held_back.py` waits
until the evidence has lasted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.collect.sampling.budget import QUICK_STEP_SECONDS, Budget
from bedside.collect.sampling.intervals import GRACE_STEPS, Intervals
from bedside.collect.step.step_count import StepCount
from bedside.diagnosis.engine import as_story, run_rules
from bedside.finding import Finding
from bedside.monitor.held_back import HeldBack
from bedside.monitor.ranks import several_ranks
from bedside.monitor.recorder import Recorder
from bedside.monitor.run_events import RunEvents
from bedside.record.run import Run
from bedside.rules import CATALOGUE, Rule
from bedside.stderr import say
from bedside.wording import count, printable

SHARE = 0.0015  # of the run's time, where there is no budget to take a part of
EARLY_SHARE = 0.02  # of the first 500 steps' time that early looks may take
EARLY_SECONDS = 0.5  # seconds in all that they take at most; without a budget quick steps may take as much
SPACING = 0.1  # of the run: within the grace the next look waits until the run has grown by this much


class Alarms:
    """Evaluates the catalogue over the growing run, hands each alarm that lasts to `on_alarm`, and withdraws it once it
    is overturned."""

    def __init__(
        self,
        view: Callable[[], Run],
        on_alarm: Callable[[Finding], None],
        share: float = SHARE,
        rules: Sequence[Rule] = CATALOGUE,
        withdraw: Callable[[Finding, int], None] = lambda finding, step: None,
        early: Callable[[], float] = lambda: EARLY_SECONDS,
    ) -> None:
        self._view = view
        self._on_alarm = on_alarm
        self._withdraw = withdraw
        self._share = share
        self._early = early  # seconds that early looks may take
        self._rules = [each for each in rules if not each.preview]  # previews neither raise alarms nor explain them
        self._held_back = HeldBack()
        self._began = time.perf_counter()
        self._finite = True
        self._step = self._looked_at = 0  # the newest step, and the step of the last pass
        self.spent = 0.0  # seconds, without the early passes
        self._spent_early = 0.0
        self._dearest = 0.0  # what the next pass is expected to take: the time is saved up beforehand
        self.looks = 0

    def due(self, step: int, losses: NDArray[np.float64]) -> bool:
        """Whether to run the rules now, given the newest step and the losses up to it."""
        finite = bool(np.isfinite(losses).all()) if len(losses) else self._finite
        turned, self._finite = self._finite and not finite, finite
        self._step = step
        elapsed = time.perf_counter() - self._began
        grown = self._step >= (1 + SPACING) * self._looked_at
        early = self._step < GRACE_STEPS and grown and self._affords_early_look()
        return turned or self.looks == 0 or early or self.spent + self._dearest < self._share * elapsed

    def _affords_early_look(self) -> bool:
        return self._spent_early + self._dearest <= self._early()

    def look(self, prepare: Callable[[], None] = lambda: None, *, final: bool = False) -> float:
        """Run all rules and report what is new. Returns the seconds it took, preparation included. The `final` pass
        holds nothing back: there will be no more evidence.
        """
        started = time.perf_counter()
        prepare()
        run = self._view()
        found, _, _ = run_rules(run, self._rules)
        step = max(self._step, run.steps - 1)
        news = self._held_back.news(found, step, final=final)
        codes = {each.code for each in news.begun}
        new = [each for each in as_story(run, found) if each.code in codes] if codes else []
        self.looks += 1
        self._looked_at = self._step
        took = time.perf_counter() - started
        if self._step < GRACE_STEPS and (self.looks == 1 or self._affords_early_look()):
            self._spent_early += took
        else:  # a run of slow steps is early for hours: its passes count like any others
            self.spent += took
        self._dearest = max(took, 0.5 * self._dearest)
        for finding in news.overturned:
            self._withdraw(finding, self._step)
        for finding in new:
            self._on_alarm(finding)
        return took


def early_seconds(budget: Budget) -> float:
    """Seconds that early passes may take: their share of the first steps; without a budget more if those steps are
    quick."""
    step = budget.usual_step
    if step is None or (budget.limit is None and step < QUICK_STEP_SECONDS):
        return EARLY_SECONDS
    return min(EARLY_SECONDS, EARLY_SHARE * GRACE_STEPS * step)


class AlarmPrinter:
    """Reports a finding to the user: a line on stderr, unless they want silence, and a call of their own function."""

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

    def withdraw(self, finding: Finding, step: int) -> None:
        if not self.silent:
            say(withdrawal_line(finding, step))


class AlarmReporter:
    """Handles a new alarm: it is recorded and reported, and for a while more steps are read."""

    def __init__(
        self, recorder: Recorder, events: RunEvents, count: StepCount, intervals: Intervals, printer: AlarmPrinter
    ) -> None:
        self._recorder = recorder
        self._events = events
        self._count = count
        self._intervals = intervals
        self._printer = printer

    def begun(self, finding: Finding) -> None:
        if not several_ranks():  # which steps are read is decided by their number alone, on all ranks alike
            self._intervals.start_dense_sampling(self._count.next)
        self._recorder.finding(self._events.step, finding)
        self._printer.say(finding)


def print_alarm(finding: Finding) -> None:
    """One line on stderr: when, what, where, and the sentence with the number."""
    say(alarm_line(finding))


def alarm_line(finding: Finding) -> str:
    """The step of the line is the onset; a sentence that names its own moment needs no other."""
    where = f" in {', '.join(finding.where[:3])}{' …' if len(finding.where) > 3 else ''}" if finding.where else ""
    when = "" if " step " in finding.message else f"since step {count(finding.first_step)}: "
    return printable(f"bedside: {when}{finding.code} {finding.name}{where}: {finding.message}")


def withdrawal_line(finding: Finding, step: int) -> str:
    return f"bedside: at step {count(step)} {finding.code} {finding.name} is withdrawn: it no longer holds."
