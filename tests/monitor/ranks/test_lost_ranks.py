"""A rank that dies leaves a readable record, and the report says which and when; restarts go on at the checkpoint."""

from __future__ import annotations

import pytest
from tests.monitor.ranks.launched import launched

import bedside
from bedside.record.sqlite.reader import open_run

ATTEMPTS = 3


def lost_ranks(folder):
    return [each for each in bedside.diagnose(folder).findings if each.code == "DST104"]


def lost(folder):
    [finding] = lost_ranks(folder)
    return finding


def test_a_killed_rank_is_named_with_its_last_step(tmp_path):
    # A launcher that ends the others before they notice leaves records that do not say who went first, and no finding.
    for attempt in range(ATTEMPTS):
        tmp_path = tmp_path / str(attempt)
        tmp_path.mkdir()
        launched(tmp_path, "killed", check=False)
        if lost_ranks(tmp_path / "killed"):
            break
    finding = lost(tmp_path / "killed")
    assert finding.where == ("rank 1",)
    assert "was killed" in finding.message
    # What it had not written yet is less than a second of steps of at least five milliseconds.
    assert 50 <= finding.first_step <= 250
    report = " ".join(str(bedside.diagnose(tmp_path / "killed")).split())
    assert f"Rank 1 was killed: its record ends at step {finding.first_step}" in report
    assert open_run(tmp_path / "killed", 1).loss.last_step == finding.first_step


def test_a_rank_that_fails_is_told_from_those_that_lost_it(tmp_path):
    launched(tmp_path, "failing", check=False)
    finding = lost(tmp_path / "failing")
    assert finding.where == ("rank 1",)
    assert finding.first_step == 50
    assert "exception of its own" in finding.message
    [ended] = open_run(tmp_path / "failing", 1).events_of("ended")
    assert ended.data["error"] == "ValueError: a sample of the wrong shape"


@pytest.fixture(scope="module")
def restarted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elastic")
    launched(folder, "elastic", restarts=1)
    return folder / "elastic"


@pytest.mark.parametrize("rank", [0, 1])
def test_a_restart_goes_on_at_the_step_of_its_checkpoint(restarted, rank):
    run = open_run(restarted, rank)
    assert run.loss.steps.tolist() == list(range(40))
    assert [event.step for event in run.events_of("resume")] == [20]
    assert "Resumed at step 20; " in run.notes[0]
    assert "abandoned branch" in run.notes[0]


def test_a_rank_that_failed_before_a_restart_is_no_longer_lost(restarted):
    assert "DST104" not in [each.code for each in bedside.diagnose(restarted).findings]
