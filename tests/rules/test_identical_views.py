import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.identical_views import identical_views
from bedside.testing import a_run


def run(*shares):
    seen = [Event(i, "views_compared", {"samples": 64, "same": each}) for i, each in enumerate(shares)]
    return a_run(loss=0.3, events=seen)


@pytest.mark.parametrize(("share", "speaks"), [(0.96, True), (0.94, False)])
def test_speaks_when_nearly_all_rows_come_twice(share, speaks):
    assert bool(identical_views.check(run(share, 1.0))) is speaks


def test_stays_silent_when_one_batch_has_two_views():
    assert not identical_views.check(run(1.0, 1.0, 0.0))


def test_needs_two_looks():
    assert isinstance(identical_views.examine(run(1.0)), NotExamined)
