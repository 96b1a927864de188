"""One prescription: the first to turn a knob settles its direction and its number."""

from __future__ import annotations

from bedside.diagnosis.prescription import one_prescription
from bedside.finding import Advice, Finding, Severity

LOWER = Advice("Lower the learning rate from 1 to about 0.01.", "learning rate", -1)
LOWER_LESS = Advice("Lower the learning rate from 1 to about 0.3.", "learning rate", -1)
RAISE = Advice("Raise the learning rate from 1 to about 3.", "learning rate", 1)
DECAY = Advice("Decay the learning rate to zero.", "learning rate", -1)


def finding(*advice, severity=Severity.WARNING, **rest):
    return Finding("AAA101", "a", severity, "It is so.", 0.9, 0, 9, try_=advice, **rest)


def test_a_later_finding_does_not_advise_what_the_first_forbids():
    first, second = one_prescription([finding(LOWER), finding("Look.", RAISE)])
    assert first.try_ == (LOWER,)
    assert second.try_ == ("Look.",)


def test_the_same_direction_takes_over_the_number():
    _, second = one_prescription([finding(LOWER), finding(LOWER_LESS, DECAY)])
    assert second.try_ == (LOWER, DECAY)


def test_within_a_finding_the_first_mention_decides():
    [only] = one_prescription([finding(RAISE, LOWER)])
    assert only.try_ == (RAISE,)


def test_a_note_does_not_overrule_an_alarm_that_is_told_after_it():
    note, alarm = one_prescription([finding(RAISE, severity=Severity.NOTE), finding(LOWER)])
    assert (note.try_, alarm.try_) == ((), (LOWER,))


def test_knobs_are_independent():
    clip = Advice("Raise the threshold.", "clipping threshold", 1)
    _, second = one_prescription([finding(LOWER), finding(clip)])
    assert second.try_ == (clip,)


def test_an_explanation_that_needs_the_opposite_goes_too():
    _, second = one_prescription([finding(LOWER), finding(could_also_be=(RAISE, "Something else."))])
    assert second.could_also_be == ("Something else.",)


def test_sentences_without_a_direction_are_left_alone():
    [only] = one_prescription([finding("Raise your eyes.", "Lower your voice.")])
    assert only.try_ == ("Raise your eyes.", "Lower your voice.")


def test_what_follows_from_another_finding_turns_no_knob_that_its_cause_leaves_alone():
    cause, effect = one_prescription([finding("Start elsewhere."), finding("Look.", RAISE, causes=("AAA101",))])
    assert cause.try_ == ("Start elsewhere.",)
    assert effect.try_ == ("Look.",)


def test_it_turns_a_knob_that_its_cause_turns_too():
    _, effect = one_prescription([finding(LOWER), finding(LOWER_LESS, causes=("AAA101",))])
    assert effect.try_ == (LOWER,)
