"""Whether a tool's words name the fault: decided by a table of phrases, so that nobody's taste decides.

The phrases are meant to be generous. A fault is *named* when one finding, of whatever severity, says what is wrong
(or, where a tool has no word for it, states the defect itself: "weight norms barely changed" of the very layer that
is in no optimizer). Naming a consequence is an alarm, not a name. Remedies do not count, named causes do, even one
among several. Where the fault has a place, `place` says whether the first finding that names it and points anywhere
points there and nowhere else; where it has a moment, the finding has to be of that moment.

A name is *telling* when the tool does not say the same of the healthy run of the same seed: who calls every learning
rate too low has not found the one that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .listener import NOTE, Said, gist

RATE = r"(learning[ -]rate|\blr\b)"


@dataclass(frozen=True)
class Fault:
    phrases: tuple[str, ...]  # regular expressions, any of them, whatever the case
    place: tuple[str, ...] = ()  # modules that are the right answer
    beside: tuple[str, ...] = ()  # modules that may be named with them
    moment: tuple[int, ...] = ()  # steps that are the right answer, for findings that have a step
    needs_place: bool = False  # the phrase is a name only if said of the right module


FAULTS = {
    "lr_high": Fault(
        (
            RATE + r"[^.;]{0,40}too (high|large|big)",  # "Learning rate likely too high", "Verify … is not too large"
            r"(oversized|too large|excessive)[ -](update|step)",
            r"update[^.;]{0,20}(ratio|norm)[^.;]{0,10}too (high|large)",
            r"(update|change)[^.;]{0,40}(of norm|of the weights?|of its weights?) (per|a|every|each) step",
            r"missing[ -]warm-?up",
        )
    ),
    "lr_low": Fault(
        (
            RATE + r"[^.;]{0,40}too (low|small)",
            r"undersized[ -]update",
            r"vanished[ -]learning[ -]rate",
            r"update[^.;]{0,20}(ratio|norm)[^.;]{0,10}too (low|small)",
        )
    ),
    "nan": Fault((r"\bnans?\b", r"non-?finite", r"not finite", r"only finite"), place=("4",)),
    "dead": Fault(
        (
            r"\bdead\b",
            r"dying relu",
            r"channels (stuck|silent)",
            r"(inactive|silent) (unit|neuron|channel)",
            r"gradients?[^.;]{0,20}(is|are|of) (exactly |entirely )?zero",
            r"zero[ -]grad(s|ients?)\b",
        ),
        place=("2", "3"),  # the layer and its ReLU
        beside=("0",),  # which gets no gradient through them
    ),
    "head": Fault(
        (
            r"(not|no|missing|absent|left out|uncovered)[^.;]{0,40}optimi[sz]er",
            r"never (updated|moved|changed)",
            r"(not|without)( being| any)? updated?",
            r"(unmoved|unchanged|uncovered)[ -](parameter|weight)",
            r"stagnant weight",
            r"barely (changed|learning)",
        ),
        place=("6",),
        needs_place=True,
    ),
    "no_zero_grad": Fault(
        (
            r"zero_grad",
            r"accumulat\w*[ -]gradient",
            r"gradients?[^.;]{0,40}(accumulat|add(s|ed|ing)? up|never cleared|not cleared|uncleared|not reset)",
        )
    ),
    "bad_batch": Fault(
        (
            r"spik(e|ed|es)\b",
            r"explosion|exploding gradients?",
            r"\boutlier",
            r"(bad|unusual|strange|extreme|anomalous)[ -](batch|input)",
            r"(input|batch)[^.;]{0,30}(range|unnormali[sz]ed|extreme)",
        ),
        moment=(200, 201),  # some count from one
    ),
}


@dataclass(frozen=True)
class Score:
    """One training as one tool saw it."""

    alarm: bool  # any warning or error at all
    named: bool
    telling: bool  # named, and not in words that it has for the healthy run too
    first: bool  # the finding it puts first names the fault
    place: bool | None  # None: this fault has no place
    findings: int  # the same words about the same place once
    alarms: int  # of them, warnings and errors
    messages: int  # as often as they were said


def names(one: Said, fault: Fault) -> bool:
    if fault.moment and one.steps and not set(fault.moment) & set(one.steps):
        return False
    if fault.needs_place and not set(fault.place) & set(one.where):
        return False
    return any(re.search(phrase, one.text, re.IGNORECASE) for phrase in fault.phrases)


def in_place(one: Said, fault: Fault) -> bool:
    """It points at the right module, and at no innocent one."""
    return bool(set(one.where) & set(fault.place)) and set(one.where) <= {*fault.place, *fault.beside}


def score(said: Sequence[Said], scenario: str, of_healthy: Sequence[Said] = ()) -> Score:
    alarms = [one for one in said if one.severity != NOTE]
    fault = FAULTS.get(scenario)
    naming = [one for one in said if fault is not None and names(one, fault)]
    pointing = next((one for one in naming if one.where), Said(""))
    always = {gist(one) for one in of_healthy if fault is not None and names(one, fault)}
    return Score(
        alarm=bool(alarms),
        named=bool(naming),
        telling=any(gist(one) not in always for one in naming),
        first=bool(naming) and naming[0] is said[0],
        place=in_place(pointing, fault) if fault is not None and fault.place and naming else None,
        findings=len(said),
        alarms=len(alarms),
        messages=sum(one.times for one in said),
    )


def ordered(said: Sequence[Said], ranked: bool) -> list[Said]:
    """As the tool ranks them; a tool that does not is read by severity, and then in the order in which it spoke."""
    return list(said) if ranked else sorted(said, key=lambda one: ("error", "warning", "note").index(one.severity))
