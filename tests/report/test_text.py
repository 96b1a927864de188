from dataclasses import replace

import pytest

from bedside.finding import Diagnosis, NotExamined, Severity
from bedside.report.styled_lines import plain
from bedside.report.text import diagnosis_lines, diagnosis_to_text

REPORTS = ["sick", "healthy", "unclear", "previews"]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_reads_as_it_did(name, request, snapshot):
    snapshot(f"{name}.txt", str(request.getfixturevalue(name)))


@pytest.mark.parametrize("name", REPORTS)
def test_a_verbose_report_reads_as_it_did(name, request, snapshot):
    snapshot(f"{name}_verbose.txt", request.getfixturevalue(name).to_text(verbose=True))


@pytest.mark.parametrize("name", [*REPORTS, "hostile"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_asked_for(name, width, request):
    result = request.getfixturevalue(name)
    text = diagnosis_to_text(result, width) + "\n" + diagnosis_to_text(result, width, verbose=True)
    assert [line for line in text.splitlines() if len(line) > width] == []


def test_the_verdict_comes_first(sick, healthy, unclear):
    assert str(sick).splitlines()[0] == "runs/a · 1,200 steps · sick: 1 error, 2 warnings, 1 preview finding"
    assert str(healthy).splitlines()[0] == "runs/a · 1,200 steps · healthy"
    assert str(unclear).splitlines()[0] == "runs/a · 12 steps · unclear"


def test_the_reason_follows_the_verdict_and_what_would_settle_it(healthy, unclear):
    assert str(healthy).splitlines()[1] == "  The loss went from 2.35 to 0.056."
    assert str(unclear).splitlines()[1:3] == [
        "  Too little was recorded to judge: 12 readings of the loss.",
        "  To settle it: 20 readings of the loss, or 5 evaluations.",
    ]


def test_a_report_fits_one_screen_whatever_it_holds(sick):
    first, *rest = sick.findings
    long = first.with_(try_=tuple(f"try {i} " + "and so on " * 15 for i in range(9)), message="It is so. " * 12)
    many = [each.with_(code=f"AAA{i}", causes=()) for i in range(101, 130) for each in rest]
    report = str(replace(sick, findings=(long, *many), notes=tuple(f"remark {i} " * 20 for i in range(9))))
    assert len(report.splitlines()) <= 40
    assert "… and 55 more findings" in report
    assert "… and 6 more remarks" in report


def test_numbers_hypotheses_and_gaps_are_shown_when_asked_for(sick):
    assert "numbers    ratio 1e-8" not in str(sick)
    assert "numbers    ratio 1e-8" in sick.to_text(verbose=True)
    assert "-v for numbers" in str(sick)
    assert "-v for numbers" not in sick.to_text(verbose=True)


def test_a_healthy_report_is_short(healthy):
    assert len(str(healthy).splitlines()) <= 12


def test_a_consequence_is_told_beneath_its_cause_in_one_line(sick):
    assert "  Which led to LOS104 stalled-loss." in str(sick).splitlines()
    lines = sick.to_text(verbose=True).splitlines()
    [result] = [line for line in lines if "LOS104" in line]
    assert result.startswith("    → LOS104 stalled-loss, since step 300: ")
    assert lines[lines.index(result) - 1] == "  Which led to:"


def test_what_was_not_examined_is_grouped_by_what_is_missing(sick):
    assert "  - dead_fraction per module: ACT101, ACT102" in sick.to_text(verbose=True).splitlines()


def test_many_wants_take_few_lines(sick):
    many = tuple(NotExamined(f"ACT{i}", f"rule-{i}", (f"vital_{i}",)) for i in range(101, 141))
    text = replace(sick, not_examined=many).to_text(verbose=True)
    assert sum("vital_" in line for line in text.splitlines()) <= 8
    assert "for 35 more rules:" in text


def test_an_epoch_axis_is_called_by_its_name(sick):
    text = str(replace(sick, axis="epoch"))
    assert "1,200 epochs" in text
    assert "Since epoch 150" in text
    assert "step 150" not in text


def test_control_characters_are_disarmed(hostile):
    assert "\x1b" not in str(hostile)


def test_roles_carry_no_words_of_their_own(sick):
    assert plain(diagnosis_lines(sick)) == str(sick)


def test_severities_have_roles_that_a_terminal_can_colour(sick):
    roles = {role for line in diagnosis_lines(sick) for _, role in line}
    assert {"sick", "error", "warning", "note", "quiet", "strong", "curve"} <= roles
    assert Severity.ERROR.word in roles


def test_a_run_without_curves_or_findings_still_prints():
    text = str(Diagnosis("empty", "csv", 0, "unclear", (), ()))
    assert text == "empty · 0 steps · unclear"


def test_a_long_path_keeps_its_telling_end():
    text = str(Diagnosis("/very/long" * 20 + "/seed_3", "csv", 0, "healthy", (), ()))
    assert text.startswith("…")
    assert "/seed_3 · " in text
