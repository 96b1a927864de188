from dataclasses import replace

from bedside.finding import Severity
from bedside.report.github import diagnosis_to_github


def test_one_annotation_per_story_and_never_one_for_a_consequence(sick):
    lines = diagnosis_to_github(sick).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice", "bedside:"]
    assert "Which led to LOS104 stalled-loss" in lines[0]
    assert lines[0].startswith("::error title=GRD101 vanishing-gradient%2C since step 150%2C still so at the end::")
    assert "%0ATry: " in lines[0]


def test_a_preview_is_only_a_notice(previews):
    assert diagnosis_to_github(previews).startswith("::notice ")


def test_a_story_is_as_loud_as_its_worst_consequence(sick):
    first, second, *_ = sick.findings
    quiet = first.with_(severity=Severity.WARNING)
    loud = second.with_(severity=Severity.ERROR)
    assert diagnosis_to_github(replace(sick, findings=(quiet, loud))).startswith("::error ")


def test_a_log_cannot_smuggle_in_a_command(hostile):
    lines = diagnosis_to_github(hostile).splitlines()
    assert sum(line.startswith("::") for line in lines) == 1


def test_a_healthy_run_still_says_that_it_was_looked_at(healthy):
    assert diagnosis_to_github(healthy).splitlines() == [
        "bedside: runs/a · 1,200 steps · healthy · 3 of 7 not examined",
        "bedside: The loss went from 2.35 to 0.056.",
    ]
