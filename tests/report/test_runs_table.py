from __future__ import annotations

from bedside.finding import Diagnosis, Failure, Finding, Severity
from bedside.report.runs_table import table_lines
from bedside.report.styled_lines import plain


def a_finding(code="LOS101", name="diverging-loss", severity=Severity.ERROR, first=120, **more):
    return Finding(code, name, severity, "It diverges.", 0.9, first, 200, **more)


def a_diagnosis(run, verdict="healthy", findings=(), steps=1000, axis="step"):
    return Diagnosis(run, "csv", steps, verdict, tuple(findings), (), axis=axis)


ANSWERS = [
    a_diagnosis("runs/fine"),
    a_diagnosis("runs/short", "unclear", steps=4, axis="epoch"),
    a_diagnosis("runs/warned", "sick", [a_finding(severity=Severity.WARNING, primary=True)]),
    Failure("runs/broken.csv", "runs/broken.csv cannot be read as CSV: it is empty.\n  Expected: a run\n  Try: ls"),
    a_diagnosis("runs/bad", "sick", [a_finding(primary=True), a_finding("NUM101", "nonfinite-loss")]),
]


def test_the_worst_run_comes_first_and_the_unreadable_last():
    assert plain(table_lines(ANSWERS)).splitlines() == [
        "in runs/",
        "bad     sick         1,000 steps  LOS101 diverging-loss since 120, and 1 more",
        "warned  sick         1,000 steps  LOS101 diverging-loss since 120",
        "short   unclear         4 epochs",
        "fine    healthy      1,000 steps",
        "",
        "Could not be read:",
        "  runs/broken.csv cannot be read as CSV: it is empty.",
        "",
        "5 runs: 2 sick, 1 unclear, 1 healthy, 1 not readable.",
    ]


def test_no_line_is_wider_than_asked_for():
    long = "runs/" + "very-" * 40 + "long"
    answers = [a_diagnosis(long, "sick", [a_finding(name="a-name-" * 20, primary=True)]), *ANSWERS]
    assert max(len(line) for line in plain(table_lines(answers, 80)).splitlines()) <= 80


def test_names_cannot_break_out_of_their_line():
    answers = [a_diagnosis("runs/a\n\x1b[31mred"), a_diagnosis("runs/b")]
    text = plain(table_lines(answers))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 5


def test_previews_are_no_alarm():
    previewed = a_diagnosis("runs/p", "healthy", [a_finding(preview=True)])
    assert "and" not in plain(table_lines([previewed, *ANSWERS[:1]]))
