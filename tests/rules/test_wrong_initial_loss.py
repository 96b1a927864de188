from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.wrong_initial_loss import wrong_initial_loss
from bedside.testing import a_run

LOUD = 0.8 + 40 * np.exp(-np.arange(300) / 30)
RIGHT = np.linspace(0.1, 0.7, 10)
KNOWN = {"num_classes": 10, "classes": 10}


def test_speaks_when_the_start_is_loud_and_lasts():
    (finding,) = wrong_initial_loss.check(a_run(loss=LOUD, val_accuracy=RIGHT, config=KNOWN))
    assert finding.severity == Severity.WARNING
    assert "18 times that of a blind guess" in finding.message


def test_is_a_note_when_the_start_is_soon_over():
    soon = 0.8 + 40 * np.exp(-np.arange(2000) / 5)
    (finding,) = wrong_initial_loss.check(a_run(loss=soon, val_accuracy=RIGHT, config=KNOWN))
    assert finding.severity == Severity.NOTE


def test_speaks_of_tokens_without_an_accuracy():
    tokens = 4 + 300 * np.exp(-np.arange(300) / 30)
    assert wrong_initial_loss.check(a_run(loss=tokens, config={"model.vocab_size": 50257}))


@pytest.mark.parametrize(
    "loss",
    [2.4 * np.exp(-np.arange(300) / 100), np.full(300, 0.4), LOUD + 30],
    ids=["begins at a guess", "trained before", "a sum that never comes below"],
)
def test_stays_silent(loss):
    assert wrong_initial_loss.check(a_run(loss=loss, val_accuracy=RIGHT, config=KNOWN)) == []


def test_is_not_examined_on_a_loss_of_parts_or_without_classes():
    parts = a_run(loss=LOUD, val_accuracy=RIGHT, config=KNOWN, **{"part/box_loss": LOUD})
    log = a_run(loss=LOUD, config=KNOWN)
    log.format = "csv"
    for run in (parts, log, a_run(loss=LOUD, val_accuracy=RIGHT)):
        assert isinstance(wrong_initial_loss.examine(run), NotExamined)


def adding_up(*made_by):
    terms = [{"made_by": each, "reduction": "mean", "elements": 64, "weight": 1.0} for each in made_by]
    return a_run(loss=LOUD, val_accuracy=RIGHT, config=KNOWN, events=[Event(0, "loss_terms", {"terms": terms})])


def test_speaks_of_a_sum_of_cross_entropies():
    assert wrong_initial_loss.check(adding_up("NllLoss", "NllLoss2D"))


def test_is_not_examined_where_another_term_is_added_to_the_cross_entropy():
    result = wrong_initial_loss.examine(adding_up("NllLoss", "Sub"))
    assert isinstance(result, NotExamined)
    assert "adds 1 other term to its cross-entropy" in str(result)


@pytest.mark.parametrize(
    "term",
    [
        {"made_by": "NllLoss", "reduction": "sum", "elements": 18, "weight": 1.0},
        {"made_by": "NllLoss", "reduction": "mean", "elements": 64 * 18, "weight": 18.0},
    ],
    ids=["summed over a sequence", "added up step by step"],
)
def test_a_loss_that_is_added_up_is_compared_with_as_many_guesses(term):
    heard = {"val_accuracy": RIGHT, "config": KNOWN, "events": [Event(0, "loss_terms", {"terms": [term]})]}
    assert wrong_initial_loss.check(a_run(loss=LOUD, **heard)) == []
    (finding,) = wrong_initial_loss.check(a_run(loss=LOUD * 18, **heard))
    assert "18 times that of a blind guess" in finding.message


@pytest.mark.parametrize(("scores", "speaks"), [(4600.0, True), (4400.0, False)])
def test_a_run_that_never_comes_down_to_a_guess_is_judged_by_the_size_of_its_scores(scores, speaks):
    """A cross-entropy is as large as scores differ; a sum of many small ones would be as large without them."""
    loss = 45_000 * np.exp(-np.arange(300) / 80)
    sizes = {"body": 1.0, "head": scores}
    found = wrong_initial_loss.check(a_run(loss=loss, val_accuracy=RIGHT, config=KNOWN, activation_rms=sizes))
    assert ["was above it for 299 steps" in each.message for each in found] == [True] * speaks
