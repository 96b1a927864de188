from __future__ import annotations

import math

import pytest

from bedside.record.run import Event
from bedside.rules.misread_validation import misread_validation
from bedside.testing import a_run

CLASSES = {"kind": "classes", "right": 0.05, "renamed": 0.9, "on": 0.2, "back": 0.2, "labels": 5, "examples": 400}
NUMBERS = {"kind": "numbers", "error": 90.0, "line": 0.5, "spread": 9.0, "factor": 10.0, "offset": 3.0, "examples": 300}

COLUMNS = NUMBERS | {"error": 0.43, "spread": 0.23, "line": 0.2, "order": [1, 0]}
COLUMNS |= {"reordered": 0.001, "column_spread": 0.23}


def found(*looks):
    return misread_validation.check(a_run(loss=1.0, events=[Event(20 * i, "evaluation_answers", e) for i, e in looks]))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (CLASSES, "90 % would be with the 5 labels renamed one to one."),
        (CLASSES | {"renamed": 0.3, "back": 0.95}, "95 % agree with the label one place back."),
        (NUMBERS, "multiplied by 10 and moved by 3."),
        (COLUMNS, "by 0.001 if they are compared with columns 1, 0 of the targets."),
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
        COLUMNS | {"error": 0.22},
        COLUMNS | {"reordered": 0.04},
    ],
)
def test_stays_silent_about_answers_that_are_right_or_just_wrong(seen):
    assert found((1, seen), (2, seen)) == []


def test_the_last_evaluations_decide():
    assert found((1, CLASSES), (2, CLASSES), (3, CLASSES | {"right": 0.9})) == []


def evaluated(accuracies, right=0.9, rows=400, logged_too=None, **last):
    """Evaluations of 400 examples, each logged with its accuracy at the step before."""
    seen = {"kind": "classes", "right": right, "renamed": right, "on": 0.1, "back": 0.1, "labels": 5, "examples": 400}
    events = [
        Event(10 * (k + 1), "evaluation_answers", seen | {"rows": rows, "last_right": told, "last_examples": 8} | last)
        for k, told in enumerate(accuracies)
    ]
    logged = {10 * (k + 1) - 1: told for k, told in enumerate(accuracies)}
    curve = [logged.get(step, math.nan) for step in range(80)]
    return a_run(loss=[1.0] * 80, val_accuracy=curve, events=events, **(logged_too or {}))


def test_speaks_when_an_accuracy_is_that_of_the_last_batch():
    [found] = misread_validation.check(evaluated([0.875, 1.0, 0.75, 0.875]))
    assert found.message == (
        "val/accuracy is that of the last batch alone (0.875, of 8 answers): of all 400 answers 90 % are right."
    )
    assert not misread_validation.check(evaluated([0.875, 1.0, 0.75]))  # three may agree by chance
    assert not misread_validation.check(evaluated([0.875, 1.0, 0.75, 0.875], last_right=0.8))


def test_stays_silent_where_a_second_accuracy_is_of_another_task_with_a_loss_of_its_own():
    accuracy = [0.875, 1.0, 0.75, 0.875]
    assert misread_validation.check(evaluated(accuracy))
    assert not misread_validation.check(evaluated(accuracy, logged_too={"val_colour_acc": 0.9}))


def test_speaks_when_an_accuracy_counts_far_too_few():
    [found] = misread_validation.check(evaluated([0.1, 0.12], last_right=0.95))
    assert found.message.startswith("val/accuracy says 0.12, and 90 % of the 400 answers")
    assert not misread_validation.check(evaluated([0.1, 0.61], last_right=0.95))
    assert not misread_validation.check(evaluated([0.1, 0.12], last_right=0.95, rows=40))  # of tokens, ten a sentence
