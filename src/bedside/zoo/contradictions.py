"""Does a report contradict itself? Verdict, findings, hypotheses and advice are one judgement, and this checks it.

Used by the tests on small runs, and by `benchmarks/calibration.py` on everything that the zoo has recorded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from bedside.finding import Advice, Diagnosis, Severity

RATE = re.compile(r"learning rate from (\S+) to about (\S+?)\.$")
CHECKPOINT = re.compile(r"checkpoint from before step (\d+)")
SINCE = re.compile(r"since (?:step|epoch) (\d[\d,]*)")
LOWEST, HIGHEST = 1e-7, 1.0  # learning rates that anybody would type
FIRST_CHECKPOINT = 10  # steps
LIKELY = 0.5
SAME_LEVEL = 0.95  # of the level when it was said to have gone flat
AGREE = {"silent-overfitting": "learned-by-heart"}  # two questions, one answer


def contradictions(diagnosis: Diagnosis) -> list[str]:
    """What this report says against itself, in words; an empty list for all that are well."""
    checks = (_verdict, _story, _twice, _dates, _advice, _numbers, _questions)
    return [each for check in checks for each in check(diagnosis)]


def _verdict(diagnosis: Diagnosis) -> Iterator[str]:
    alarms = diagnosis.at_least(Severity.WARNING)
    if bool(alarms) != (diagnosis.verdict == "sick"):
        yield f"{diagnosis.verdict} with {len(alarms)} alarms"
    if not diagnosis.reason:
        yield "a verdict without a reason"
    if (diagnosis.verdict == "unclear") != bool(diagnosis.settled_by):
        yield f"{diagnosis.verdict}, and what would settle it is {diagnosis.settled_by!r}"
    for asked in diagnosis.differential:
        top = asked.heaviest
        if diagnosis.verdict == "healthy" and top.test is not None and top.weight > LIKELY:
            yield f"healthy, but probably {top.name}"
        if diagnosis.verdict == "sick" and top.test is None and top.weight > LIKELY:
            yield f"sick, but probably {top.name}"


def _story(diagnosis: Diagnosis) -> Iterator[str]:
    """One finding comes first, and every finding named as a cause was found as well."""
    primary = [each for each in diagnosis.findings if each.primary]
    if diagnosis.at_least(Severity.WARNING) and len(primary) != 1:
        yield f"{len(primary)} primary findings"
    if primary and diagnosis.findings[0] is not primary[0]:
        yield f"{primary[0].name} is primary and not told first"
    codes = {each.code for each in diagnosis.findings}
    for each in diagnosis.findings:
        if not set(each.causes) <= codes:
            yield f"{each.name} is caused by what was not found: {', '.join(sorted(set(each.causes) - codes))}"


def _twice(diagnosis: Diagnosis) -> Iterator[str]:
    """The same finding, advice or question more than once."""
    places = Counter(each.key for each in diagnosis.findings)
    yield from (f"found twice: {' '.join((code, *where))}" for (code, where), times in places.items() if times > 1)
    messages = Counter(each.message for each in diagnosis.findings)
    yield from (f"said twice: {message}" for message, times in messages.items() if times > 1)
    for each in diagnosis.findings:
        if len(set(each.try_)) < len(each.try_):
            yield f"{each.name} gives the same advice twice"
    questions = Counter(each.question for each in diagnosis.differential)
    yield from (f"asked twice: {question}" for question, times in questions.items() if times > 1)


def _dates(diagnosis: Diagnosis) -> Iterator[str]:
    """An onset that lies outside the run, after its end, or is another one in the sentence than in the data."""
    for each in diagnosis.findings:
        if not 0 <= each.first_step <= max(each.last_step, 0):
            yield f"{each.name} begins at {each.first_step} and ends at {each.last_step}"
        onset = SINCE.search(each.message)
        known = {each.first_step, *(value for value in each.evidence.values() if isinstance(value, int))}
        if onset and int(onset[1].replace(",", "")) not in known:
            yield f"{each.name} is dated {each.first_step}, and says: {each.message}"


def _advice(diagnosis: Diagnosis) -> Iterator[str]:
    turns: dict[str, tuple[int, str]] = {}
    for finding in diagnosis.findings:
        for each in (*finding.try_, *finding.could_also_be):
            if isinstance(each, Advice) and each.turn:
                turn, before = turns.setdefault(each.knob, (each.turn, each))
                if turn != each.turn:
                    yield f"{before!s} / {each!s}"
    texts = [each.lower() for finding in diagnosis.findings for each in finding.try_]
    if any("raise the learning rate" in text for text in texts) and any("lower the learning rate" in t for t in texts):
        yield "raise and lower the learning rate"


def _numbers(diagnosis: Diagnosis) -> Iterator[str]:
    for finding in diagnosis.findings:
        for each in finding.try_:
            if found := RATE.search(each):
                new = float(found[2].replace(",", ""))
                if not LOWEST <= new <= HIGHEST:
                    yield f"a learning rate nobody uses: {each}"
            if (found := CHECKPOINT.search(each)) and int(found[1]) < FIRST_CHECKPOINT:
                yield f"no such checkpoint: {each}"


def _questions(diagnosis: Diagnosis) -> Iterator[str]:
    tops = {asked.heaviest.name for asked in diagnosis.differential if asked.heaviest.weight > LIKELY}
    weights = {each.name: each.weight for asked in diagnosis.differential for each in asked.hypotheses}
    for name, other in AGREE.items():
        if name in tops and weights.get(other, 1.0) < LIKELY:
            yield f"{name} in one question, not {other} in another"
    for asked in diagnosis.differential:
        if " has not improved since " in asked.question:
            key = asked.question.split(" has not improved")[0]
            curve = [value for step, value in diagnosis.pictures.get(key, ()) if step >= asked.first_step]
            if (
                key.endswith("loss")
                and len(curve) > 2
                and min(curve[-3:]) > 0
                and max(curve[-3:]) < SAME_LEVEL * curve[0]
            ):
                yield f"said to be flat: {key} from {curve[0]:.3g} to {curve[-1]:.3g}"
