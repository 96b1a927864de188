"""The arithmetic of the score, on runs written by hand."""

from __future__ import annotations

from dataclasses import replace

from bedside.testing import a_run
from bedside.zoo.fault_check import ends_higher, ends_lower, ends_worse, first_evaluation, is_lost, lowest_validation
from bedside.zoo.grading import Row, judge_healthy, judge_sick, withdrawn
from bedside.zoo.score import read, worse, write
from bedside.zoo.specimen import Specimen
from bedside.zoo.specimens import ZOO
from bedside.zoo.specimens.erratic_validation import first_leap
from bedside.zoo.summary import lines, shares
from bedside.zoo.truncate import as_of

NAN = float("nan")
HEALTHY = [2.3 * 0.97**step + 0.1 for step in range(200)]
LOST = HEALTHY[:120] + [NAN] * 80


def a_specimen(*expects: str, onset: int = 120) -> Specimen:
    return Specimen("one", "MLP", lambda case: None, "One.", (expects,), {"only": None}, onset, is_lost)


def test_a_fault_that_is_named_is_caught_and_dated():
    row = judge_sick(a_specimen("nonfinite-loss"), "only", 0, a_run(loss=LOST), a_run(loss=HEALTHY))
    assert (row.caught, row.primary, row.exact, row.harmed) == ("yes", "yes", "yes", "yes")
    assert row.onset_error == "0"
    assert int(row.delay) <= 0.1 * 200
    assert row.in_time


def test_a_fault_that_is_called_something_else_is_missed():
    row = judge_sick(a_specimen("overfitting"), "only", 0, a_run(loss=LOST), a_run(loss=HEALTHY))
    assert (row.caught, row.primary, row.exact) == ("no", "no", "no")
    assert row.delay == ""
    assert "nonfinite-loss" in row.found


def test_an_alarm_on_a_healthy_run_is_a_false_one():
    assert judge_healthy(a_specimen(), "healthy", 0, a_run(loss=HEALTHY)).false_alarms == ""
    assert "nonfinite-loss" in judge_healthy(a_specimen(), "healthy", 0, a_run(loss=LOST)).false_alarms


def test_rewinding_gives_what_was_known_then():
    run = a_run(loss=LOST, val_loss=[1.0, 0.5, 0.4, 0.3])
    then = as_of(run, 99)
    assert (then.steps, then.loss.last_step) == (100, 99)
    assert then.series("val/loss").last_step <= 99
    assert as_of(run, 10**6).steps == run.steps


def test_harm_is_a_comparison_with_the_twin():
    good, bad = a_run(val_accuracy=[0.5, 0.9, 0.9, 0.9]), a_run(val_accuracy=[0.5, 0.5, 0.5, 0.5])
    assert ends_worse("val/accuracy", by=0.3)(bad, good)
    assert not ends_worse("val/accuracy", by=0.3)(good, bad)
    low, high = a_run(loss=[1.0] * 60), a_run(loss=[3.0] * 60)
    assert ends_worse("loss", by=1.5)(high, low)
    assert ends_higher("loss", times=2)(high, low)
    assert ends_lower("loss", times=0.5)(low, high)
    assert is_lost(a_run(loss=LOST), a_run(loss=HEALTHY))


def test_onsets_are_read_off_the_run():
    run = a_run(steps=100, val_loss=[1.0, 0.2, 0.5, 0.9])
    assert (first_evaluation(run), lowest_validation(run)) == (24, 49)
    calm = [2.0, 1.6, 1.3, 1.05, 0.85, 0.7, 0.56, 0.45, 0.36, 0.29]
    assert first_leap(a_run(steps=100, val_loss=calm)) == 0
    assert first_leap(a_run(steps=100, val_loss=[*calm[:7], 0.15, 0.4, 0.2])) == 79


def test_the_table_survives_a_round_trip_and_is_merged(tmp_path):
    path = tmp_path / "zoo.csv"
    name = ZOO[0].name
    first = Row(name, "healthy", 100, 300, false_alarms="loss-spike", found="loss-spike")
    second = Row(name, "mild", 100, 300, caught="yes", primary="yes", exact="no", onset="0", onset_error="3", delay="7")
    write([second, first], path)
    assert read(path) == [first, second]
    write([replace(first, false_alarms="", found="")], path)
    assert [row.false_alarms for row in read(path)] == ["", ""]
    assert read(tmp_path / "none.csv") == []


def test_what_got_worse_is_said_in_words():
    before = [
        Row("one", "mild", 100, 300, caught="yes", primary="yes"),
        Row("one", "severe", 100, 300, caught="no", primary="no"),
        Row("one", "healthy", 100, 300),
    ]
    now = [
        replace(before[0], caught="no", primary="no"),
        replace(before[1], caught="yes"),
        replace(before[2], false_alarms="overfitting"),
        Row("two", "healthy", 100, 300),
    ]
    assert worse(now, before) == [
        "one, mild, seed 100: was caught, now nothing is found",
        "one, healthy, seed 100: false alarm overfitting",
        "two, healthy, seed 100: not in the table",
    ]
    assert worse(before, before) == []


def test_the_summary_counts_sick_and_healthy_apart():
    rows = [
        Row("one", "mild", 100, 300, caught="yes", primary="yes", exact="yes", delay="10", harmed="yes"),
        Row("one", "severe", 100, 300, caught="preview", primary="no", exact="no", delay="200", harmed="yes"),
        Row("one", "healthy", 100, 300, false_alarms="loss-spike"),
        Row("two", "healthy", 100, 300),
    ]
    result = {name: str(share) for name, share in shares(rows).items()}
    assert result["caught"] == "1/2 (50 %)"
    assert result["caught by a preview only"] == "1/2 (50 %)"
    assert result["in time"] == "1/1 (100 %)"
    assert result["false alarms"] == "1/2 (50 %)"
    assert [(each.specimen, each.caught, each.false_alarms) for each in lines(rows)] == [
        ("one", "1/2", "1/1"),
        ("two", "", "0/1"),
    ]


def test_an_alarm_counts_as_passing_only_if_it_was_said_and_taken_back():
    ratio = [0.99, 0.4, 0.3, 0.2, 0.15] + [0.01] * 395
    stays_high = [2.3, 90.0, 70.0, 50.0, 20.0] + [2.4] * 395
    comes_back_late = stays_high[:200] + [0.3] * 200
    comes_back_soon = stays_high[:25] + [0.3] * 375
    names = [
        {each.name for each in withdrawn(a_run(loss=loss, lr=1.0, relative_update_norm=ratio))}
        for loss in (stays_high, comes_back_late, comes_back_soon)
    ]
    assert "oversized-update" not in names[0]  # still there at the end
    assert "oversized-update" not in names[2]  # held back, and gone before it was said
    assert names[1]  # said while the loss was high
