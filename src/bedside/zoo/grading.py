"""Was a specimen recognised? One Row per run: pure arithmetic on a recorded run, its twin and the diagnosis.

*caught*: one of the expected findings is an error or a warning (`preview` if only by a rule that is still one).
*primary*: the primary finding is an expected one.
*exact*: besides, every other error or warning is expected too, or folded beneath one that is.
*onset_error*: the step the expected finding dates the fault to, less the step at which it began.
*delay*: steps from the fault to the first look at the growing run that found it, looking forty times a run.
*false_alarms*: on a healthy run, every stable error or warning at the end; *passing* ones a live monitor would have
said while the run grew, after holding them back as it does, and had to withdraw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bedside.diagnosis.engine import examine, run_rules
from bedside.finding import Diagnosis, Finding, Severity
from bedside.monitor.alarms import SPACING
from bedside.monitor.held_back import HeldBack
from bedside.record.run import Run
from bedside.rules import CATALOGUE
from bedside.zoo.specimen import Specimen
from bedside.zoo.truncate import as_of

LOOKS = 40  # over a sick run: a delay is known to 2.5 % of the run
IN_TIME = 0.1  # of the run: an alarm that comes later could have come at the end


@dataclass(frozen=True)
class Row:
    """What became of one run; also one line of the table that is committed."""

    specimen: str
    severity: str  # `healthy` for a twin and for a healthy run that looks sick
    seed: int
    steps: int
    caught: str = ""  # yes, preview, no; nothing for a healthy run
    primary: str = ""
    exact: str = ""
    onset: str = ""
    onset_error: str = ""
    delay: str = ""
    harmed: str = ""
    false_alarms: str = ""
    passing: str = ""
    previews: str = ""  # rules still on trial that spoke on a healthy run
    found: str = ""  # every error and warning, the primary one first
    broken: str = ""  # rules that raised: they found nothing, and that says nothing

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.specimen, self.severity, self.seed)

    @property
    def sick(self) -> bool:
        return bool(self.caught)

    @property
    def in_time(self) -> bool:
        return self.delay != "" and int(self.delay) <= IN_TIME * self.steps


def judge_sick(specimen: Specimen, severity: str, seed: int, run: Run, twin: Run) -> Row:
    diagnosis = examine(run)
    alarms = _alarms(diagnosis)
    right = [finding for finding in alarms if finding.name in specimen.names]
    onset = specimen.onset_in(run)
    told_first = diagnosis.primary
    primary = told_first is not None and told_first.name in specimen.names
    stray = [each for each in _strays(diagnosis, specimen.names) if not each.preview]
    return Row(
        specimen.name,
        severity,
        seed,
        run.steps,
        caught="no" if not right else "preview" if all(each.preview for each in right) else "yes",
        primary=_yes(primary),
        exact=_yes(primary and not stray),
        onset=str(onset),
        onset_error=str(_nearest(right, onset)) if right else "",
        delay=_delay(specimen, run, onset) if right else "",
        harmed=_yes(specimen.fault_check is not None and specimen.fault_check(run, twin)),
        found=_names(alarms),
        broken=_broken(diagnosis),
    )


def judge_healthy(specimen: Specimen, severity: str, seed: int, run: Run) -> Row:
    diagnosis = examine(run)
    alarms = _alarms(diagnosis)
    return Row(
        specimen.name,
        severity,
        seed,
        run.steps,
        false_alarms=_names(each for each in alarms if not each.preview),
        passing=_names(withdrawn(run)),
        previews=_names(each for each in alarms if each.preview),
        found=_names(alarms),
        broken=_broken(diagnosis),
    )


def withdrawn(run: Run) -> list[Finding]:
    """Alarms that a live monitor would have said and taken back, looking whenever the run has grown by a tenth."""
    rules = [each for each in CATALOGUE if not each.preview]
    overturned: list[Finding] = []
    held_back, step = HeldBack(), 1
    while step < run.steps - 1:
        found, _, _ = run_rules(as_of(run, step), rules)
        overturned += held_back.news(found, step).overturned
        step = max(step + 1, math.ceil((1 + SPACING) * step))
    found, _, _ = run_rules(run, rules)
    return [*overturned, *held_back.news(found, run.steps, final=True).overturned]


def _alarms(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.severity >= Severity.WARNING]


def _strays(diagnosis: Diagnosis, expected: frozenset[str]) -> Iterator[Finding]:
    """Alarms that are neither expected nor follow, directly or by way of others, from one that is."""
    explained = {finding.code for finding in diagnosis.findings if finding.name in expected}
    rest = [finding for finding in _alarms(diagnosis) if finding.code not in explained]
    while follows := [each for each in rest if set(each.causes) & explained]:
        explained |= {each.code for each in follows}
        rest = [each for each in rest if each.code not in explained]
    yield from rest


def _nearest(right: list[Finding], onset: int) -> int:
    return min((finding.first_step - onset for finding in right), key=abs)


def _delay(specimen: Specimen, run: Run, onset: int) -> str:
    for step in _looks(run, onset, LOOKS):
        if any(each.name in specimen.names for each in _alarms(examine(as_of(run, step)))):
            return str(max(0, step - onset))
    return str(run.steps - 1 - onset)


def _looks(run: Run, onset: int, looks: int) -> Iterator[int]:
    """Evenly spaced steps of the run, from the onset on, without the last one."""
    for k in range(1, looks):
        step = -(-run.steps * k // looks) - 1
        if step >= onset:
            yield step


def _names(findings: Iterable[Finding]) -> str:
    return " ".join(dict.fromkeys(finding.name for finding in findings))


def _broken(diagnosis: Diagnosis) -> str:
    return " ".join(each.name for each in diagnosis.not_examined if each.broken)


def _yes(true: bool) -> str:
    return "yes" if true else "no"
