import math

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.nonfinite_input import nonfinite_input
from bedside.testing import a_run

NAN = math.nan
BAD = [0.0] * 60 + [1.0] + [0.0] * 39


def test_speaks_when_a_bad_batch_ended_the_run():
    [found] = nonfinite_input.check(a_run(loss=[1.0] * 60 + [NAN] * 40, nonfinite_inputs=BAD))
    assert (found.severity, found.first_step) == (Severity.ERROR, 60)


def test_names_the_targets_when_they_were_bad():
    run = a_run(loss=[1.0] * 60 + [NAN] * 40, nonfinite_inputs=0.0, nonfinite_targets=BAD)
    [found] = nonfinite_input.check(run)
    assert "targets of step 60 hold NaN" in found.message


def test_believes_the_hunt_where_no_sample_was_taken():
    hunt = Event(60, "origin", {"kind": "input"})
    [found] = nonfinite_input.check(a_run(loss=[1.0] * 60 + [NAN] * 40, input_rms=1.0, events=[hunt]))
    assert found.first_step == 60


def test_warns_when_the_run_got_over_it():
    [found] = nonfinite_input.check(a_run(loss=[1.0] * 60 + [NAN] + [1.0] * 39, nonfinite_inputs=BAD))
    assert found.severity == Severity.WARNING


def test_is_a_note_when_the_model_deals_with_it():
    [found] = nonfinite_input.check(a_run(loss=1.0, nonfinite_inputs=BAD))
    assert found.severity == Severity.NOTE


def test_stays_silent_when_everything_is_finite():
    assert not nonfinite_input.check(a_run(loss=1.0, nonfinite_inputs=0.0, nonfinite_targets=0.0, input_rms=1.0))


def test_says_what_it_needs_when_the_run_was_not_watched():
    assert isinstance(nonfinite_input.examine(a_run(loss=1.0)), NotExamined)
