from __future__ import annotations

import pytest

from bedside.finding import Severity
from bedside.record.run import Event
from bedside.rules.seen_before import seen_before
from bedside.testing import a_run

SEEN = {"rows": 200, "known": 90, "repeated": 0, "forwards": 4, "hits": 4, "graded": 4}


def found(*looks):
    return seen_before.check(a_run(loss=1.0, events=[Event(20 * i, "seen_before", e) for i, e in enumerate(looks, 1)]))


def test_speaks_when_validation_rows_are_training_rows():
    (finding,) = found(SEEN | {"known": 0, "hits": 0}, SEEN, SEEN)  # at the first evaluation nothing was known yet
    assert finding.message.startswith("90 of 200 validation rows")
    assert finding.severity is Severity.WARNING


def test_rows_that_no_validation_loss_was_made_of_are_a_note():
    for graded in (0, 3):  # a retrieval that searches them; a loss of some of the forwards only
        (finding,) = found(SEEN, SEEN, SEEN | {"graded": graded})
        assert finding.severity is Severity.NOTE
        assert "retrieval" in " ".join(finding.could_also_be)


@pytest.mark.parametrize(
    "other",
    [{"known": 0, "hits": 0}, {"known": 5}, {"hits": 2}, {"repeated": 60}],
    ids=["nothing in common", "a few duplicates", "a training accuracy beside the held-out one", "few different rows"],
)
def test_stays_silent_otherwise(other):
    assert found(SEEN, SEEN, SEEN | other) == []


def test_stays_silent_where_there_is_one_batch_only():
    looks = [Event(20 * i, "seen_before", SEEN) for i in (1, 2, 3)]
    assert seen_before.check(a_run(loss=1.0, events=looks, batch_fingerprint=[7.0] * 60)) == []
    assert seen_before.check(a_run(loss=1.0, events=looks, batch_fingerprint=[*range(60)]))
