"""Running averages that have not arrived."""

from __future__ import annotations

from bedside.record.run import Event
from bedside.rules.stale_statistics import stale_statistics
from bedside.testing import a_run


def found(**data):
    facts = {"where": ["norm1"], "initial_share": 0.95, "momentum": 1e-4, "batches": 500, **data}
    events = [Event(0, "coverage"), Event(499, "batch_statistics", facts)]
    return list(stale_statistics.check(a_run(loss=0.4, events=events, steps=500)))


def test_speaks_when_most_of_the_average_is_its_initial_value():
    (finding,) = found()
    assert list(finding.where) == ["norm1"]
    assert "1e-4 to 0.1" in finding.try_[0]


def test_stays_silent_when_the_average_has_arrived():
    assert not found(initial_share=0.03)


def test_stays_silent_after_a_few_batches():
    assert not found(batches=20)


def test_stays_silent_without_an_evaluation():
    assert not list(stale_statistics.check(a_run(loss=0.4, events=[Event(0, "coverage")])))


def test_speaks_of_a_copy_that_is_evaluated_with_the_averages_it_was_made_with():
    events = [Event(0, "coverage"), Event(300, "stale_copy", {"where": ["0.1", "2.1"], "batches": 300})]
    [found] = stale_statistics.check(a_run(loss=0.4, events=events))
    assert "the running averages of `0.1`, `2.1` are still those that it was made with, after 300" in found.message
    assert "buffers" in found.try_[0]
