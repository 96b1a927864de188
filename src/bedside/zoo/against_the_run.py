"""Does a report say what its run does not bear out? Advice without its precondition, a number of another step.

What `contradictions.py` finds by reading the report alone, this finds by looking at the run beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from bedside.analysis.schedule import schedulers
from bedside.finding import Diagnosis, Finding
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import CLIP_THRESHOLD, LR

FROM_RATE = re.compile(r"learning rate from (\S+) to about")
READING = re.compile(r"\(?(-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?) at (?:step|epoch) (\d[\d,]*)\b")
SIGMOID = re.compile(r"^Replace sigmoid or tanh")
SAME = 0.02  # of a number: three digits are shown of it
AROUND = 0.05  # of the run: a level at a step is that of the readings around it
CONSTANT = 0.99  # of its peak: a learning rate that never was below it follows no schedule


def against_the_run(diagnosis: Diagnosis, run: Run) -> list[str]:
    """What this report says of its run and is not so, in words; an empty list for all that are well."""
    said: list[str] = []
    for finding in diagnosis.findings:
        for advice in finding.try_:
            said += [f"{finding.name}: {why}: {advice}" for why in _without_precondition(advice, run)]
        said += [f"{finding.name}: {why}: {finding.message}" for why in _misread(finding, run)]
    return said


def _without_precondition(advice: str, run: Run) -> Iterator[str]:
    rates = run.series(LR.name).finite()
    if (found := FROM_RATE.search(advice)) and not _is_among(_number(found[1]), rates, run):
        yield "a learning rate that the run never had"
    if "schedule stretched" in advice and _constant(rates) and not schedulers(run):
        yield "there is no schedule"
    if advice.startswith("Clip the gradient norm") and run.series(CLIP_THRESHOLD.name).finite():
        yield "it clips already"
    kinds = {str(kind) for event in run.events_of("nonlinearities") for kind in event.data.values()}
    if kinds and SIGMOID.search(advice) and not {"sigmoid", "tanh"} & kinds:
        yield "there is no sigmoid or tanh"
    if kinds and "instead of ReLU" in advice and not any("relu" in kind for kind in kinds):
        yield "there is no ReLU"


def _constant(rates: Series) -> bool:
    return len(rates) == 0 or float(rates.values.min()) >= CONSTANT * float(rates.values.max())


def _misread(finding: Finding, run: Run) -> Iterator[str]:
    """Numbers that a message gives to a step and that no reading near it bears out."""
    curves = [run.series(*_key(run, key)).finite() for key in finding.series]
    for value, step in READING.findall(finding.message):
        at, number = int(step.replace(",", "")), _number(value)
        near = [curve for curve in curves if len(curve) and curve.first_step <= at <= curve.last_step]
        if near and not any(_between(number, curve, at, _half_a_digit(value)) for curve in near):
            yield f"no reading near {at} is {value}"


def _half_a_digit(text: str) -> float:
    """What a number may be off by because of how many digits are shown: 0.05 of `17.4`, 5e-46 of `2e-45`."""
    mantissa, _, power = text.replace(",", "").lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"0.51e{int(power or 0) - decimals}")


def _between(number: float, curve: Series, at: int, slack: float) -> bool:
    """Whether the readings around a step bear this number out: a level lies between them."""
    width = max(1, int(AROUND * (curve.last_step - curve.first_step)))
    values = curve.since(at - width).before(at + width + 1).values
    if len(values) == 0:
        values = np.array([curve.values[int(np.argmin(np.abs(curve.steps - at)))]])
    slack = max(slack, SAME * abs(number))
    return bool(values.min() - slack <= number <= values.max() + slack)


def _is_among(rate: float, rates: Series, run: Run) -> bool:
    """Whether the run ever had this learning rate, in any group."""
    every = [rates, *(series.finite() for series in run.of(LR.name))]
    known = [series for series in every if len(series)]
    return not known or any(bool((np.abs(each.values - rate) <= SAME * rate).any()) for each in known)


def _key(run: Run, key: str) -> tuple[str, str]:
    known = {f"{vital}/{owner}" if owner else vital: (vital, owner) for vital, owner in run.series_keys}
    return known.get(key, (key, ""))


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))
