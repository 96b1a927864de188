from __future__ import annotations

import pytest

from bedside.record.run import Event
from bedside.rules.misread_validation import misread_validation
from bedside.testing import a_run

CLASSES = {"kind": "classes", "right": 0.05, "renamed": 0.9, "on": 0.2, "back": 0.2, "labels": 5, "examples": 400}
NUMBERS = {"kind": "numbers", "error": 90.0, "line": 0.5, "spread": 9.0, "factor": 10.0, "offset": 3.0, "examples": 300}


def found(*looks):
    return misread_validation.check(a_run(loss=1.0, events=[Event(20 * i, "evaluation_answers", e) for i, e in looks]))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (CLASSES, "90 % would be with the 5 labels renamed one to one."),
        (CLASSES | {"renamed": 0.3, "back": 0.95}, "95 % agree with the label one place back."),
        (NUMBERS, "multiplied by 10 and moved by 3."),
    ],
)
def test_speaks_when_answers_are_right_in_other_terms(seen, said):
    (finding,) = found((1, seen), (2, seen))
    assert finding.message.endswith(said)


@pytest.mark.parametrize(
    "seen",
    [
        CLASSES | {"right": 0.9, "renamed": 0.9},
        CLASSES | {"renamed": 0.4},  # wrong, and not in one way
        CLASSES | {"renamed": 0.0},  # two labels with one answer are no renaming
        CLASSES | {"labels": 1},
        CLASSES | {"examples": 25},
        NUMBERS | {"error": 2.0},
        NUMBERS | {"line": 5.0},
    ],
)
def test_stays_silent_about_answers_that_are_right_or_just_wrong(seen):
    assert found((1, seen), (2, seen)) == []


def test_the_last_evaluations_decide():
    assert found((1, CLASSES), (2, CLASSES), (3, CLASSES | {"right": 0.9})) == []
