"""Does a report contradict itself? Verdict, findings, hypotheses and advice are one judgement, and this checks it.

Used by the tests on small runs, and by `benchmarks/calibration.py` on everything that the zoo has recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bedside.finding import Advice, Diagnosis, Severity

RATE = re.compile(r"learning rate from (\S+) to about (\S+?)\.$")
CHECKPOINT = re.compile(r"checkpoint from before step (\d+)")
LOWEST, HIGHEST = 1e-7, 1.0  # learning rates that anybody would type
FIRST_CHECKPOINT = 10  # steps
LIKELY = 0.5
SAME_LEVEL = 0.95  # of the level when it was said to have gone flat
AGREE = {"silent-overfitting": "learned-by-heart"}  # two questions, one answer


def contradictions(diagnosis: Diagnosis) -> list[str]:
    """What this report says against itself, in words; an empty list for all that are well."""
    return [*_verdict(diagnosis), *_advice(diagnosis), *_numbers(diagnosis), *_questions(diagnosis)]


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
