from __future__ import annotations

from bedside.record.run import Event
from bedside.rules.linear_network import linear_network
from bedside.testing import a_run


def test_speaks_when_nothing_lies_between_the_layers():
    events = [Event(0, "coverage"), Event(0, "linear_network", {"layers": 2})]
    (finding,) = linear_network.check(a_run(loss=1.0, events=events))
    assert "between the 2 layers" in finding.message


def test_stays_silent_when_a_graph_was_looked_at_and_has_a_non_linearity():
    assert linear_network.check(a_run(loss=1.0, events=[Event(0, "coverage")])) == []
