"""Sick, healthy or unclear, and why in one line. Healthy is earned: nothing found is not enough.

A run is healthy when it was examined, nothing was found, and its curves show that it learned: clearly better than at
the start and than a blind guess where that is known, on held-out data too where there are any, and not far from its
own best at the end. An alarm of a rule on trial makes no run sick, and none healthy either. The first of the doubts in
`doubts.py` that holds makes the verdict unclear.
"""

from __future__ import annotations

from collections.abc import Sequence

from bedside.diagnosis.doubts import DOUBTS, Limits, Verdict
from bedside.diagnosis.learned import Learned
from bedside.finding import Differential, Finding, Severity
from bedside.record.run import Run
from bedside.rules.advice import moment
from bedside.wording import capital, number, percent


def verdict(run: Run, findings: Sequence[Finding], examined: Sequence[str], asked: Sequence[Differential]) -> Verdict:
    """The judgement of a run whose rules have answered and whose open questions were weighed."""
    alarms = [each for each in findings if each.severity >= Severity.WARNING and not each.preview]
    if alarms:
        first = next((each for each in alarms if each.primary), alarms[0])
        return Verdict("sick", first.message)
    stopped = next((event for event in run.events_of("switched_off") if event.data.get("all")), None)
    if stopped is not None:
        return Verdict(
            "unclear", f"bedside stopped watching at {moment(run, stopped.step)}.", "Report the error below."
        )
    if not examined:
        return Verdict("unclear", "No rule could be applied.", "See what the rules need: bedside diagnose -v.")
    learned = Learned(run)
    for doubt in DOUBTS:
        if (unclear := doubt(learned, Limits())) is not None:
            return unclear
    return _on_trial(findings) or _open_question(asked) or Verdict("healthy", _shown(learned))


def _on_trial(findings: Sequence[Finding]) -> Verdict | None:
    """An alarm of a rule that is on trial: not enough to call a run sick, and too much to call it healthy."""
    alarms = [each for each in findings if each.preview and each.severity >= Severity.WARNING]
    if not alarms:
        return None
    first = max(alarms, key=lambda each: each.confidence)
    settled = first.try_[0] if first.try_ else f"See how it decides: bedside explain {first.code}."
    return Verdict("unclear", f"A preview rule says: {first.message}", settled)


def _open_question(asked: Sequence[Differential]) -> Verdict | None:
    """A fault that is more likely than not, though no rule is sure of it."""
    for each in asked:
        top = each.heaviest
        if top.test is not None and top.weight > Limits().likely:
            return Verdict(
                "unclear", f"{each.question.split('. ')[0]}: probably {top.title} ({percent(top.weight)}).", top.test.do
            )
    return None


def _shown(learned: Learned) -> str:
    """What the run showed of learning, in one line."""
    said = [
        f"{each.key} went from {number(each.shown(each.first))} to {number(each.shown(each.now))}"
        for each in [learned.training, *learned.held_out[:1], *learned.metrics[:1]]
        if each is not None and each.improved
    ]
    return capital("; ".join(dict.fromkeys(said))) + "." if said else "The loss is well below that of a blind guess."
