"""What goes wrong between ranks is found and named in real runs of two processes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.monitor.ranks.launched import launched

import bedside
from bedside.record.sqlite.reader import open_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("findings")
    printed = launched(folder, "same_data", "disagree", "straggler", "reduced", "uneven", "nan_on_one_rank")
    return folder, printed


def found(folder, code):
    [finding] = [each for each in bedside.diagnose(folder).findings if each.code == code]
    return finding


def test_ranks_with_the_same_data_are_found_and_named(trained):
    folder, _ = trained
    assert found(folder / "same_data", "DST101").where == ("rank 0", "rank 1")


def test_rank_zero_speaks_and_no_other(trained):
    _, printed = trained
    assert printed.count("DST101 ranks-see-same-data") >= 1
    assert printed.count("same_data · 60 steps") == 1  # one report


def test_replicas_that_part_are_found_and_named(trained):
    folder, _ = trained
    finding = found(folder / "disagree", "DST102")
    assert finding.where == ("rank 0", "rank 1")
    assert finding.first_step == 0


def test_a_rank_that_waits_for_its_data_is_found_and_named(trained):
    folder, _ = trained
    assert found(folder / "straggler", "DST103").where == ("rank 1",)


@pytest.mark.parametrize("name", ["same_data", "disagree", "straggler", "reduced"])
def test_no_rank_is_lost_where_all_ended_by_themselves(trained, name):
    folder, _ = trained
    assert "DST104" not in [each.code for each in bedside.diagnose(folder / name).findings]


def test_metrics_are_reduced_as_sums_and_counts(trained):
    folder, _ = trained
    run = open_run(folder / "reduced")
    accuracy, loss = run.series("val/accuracy"), run.series("val/loss")
    assert accuracy.steps.tolist() == [5]
    assert accuracy.values.tolist() == [pytest.approx((0.5 * 10 + 0.9 * 30) / 40)]
    assert loss.steps.tolist() == [5, 6]
    assert loss.values.tolist() == [pytest.approx((1 * 10 + 2 * 30) / 40), pytest.approx((2 * 10 + 3 * 5) / 15)]


def test_nobody_waits_for_a_rank_that_skips_finds_nan_or_runs_fewer_steps(trained):
    folder, _ = trained  # that the programs ended at all is the point
    assert [open_run(folder / "uneven", rank).steps for rank in (0, 1)] == [40, 26]
    assert any(each.code == "NUM101" for each in bedside.diagnose(folder / "uneven" / "rank1.sqlite").findings)


def test_a_nan_on_one_rank_of_a_sharded_model_hangs_nobody_and_is_found(trained):
    folder, _ = trained
    assert [open_run(folder / "nan_on_one_rank", rank).steps for rank in (0, 1)] == [20, 20]
    losses = [open_run(folder / "nan_on_one_rank", rank).loss.values for rank in (0, 1)]
    assert [int(np.isnan(each).argmax()) for each in losses] == [11, 10]
    assert "sick" in bedside.diagnose(folder / "nan_on_one_rank").verdict


def test_a_single_watched_rank_of_a_sharded_model_says_what_it_does_not_know(trained):
    folder, _ = trained
    run = open_run(folder / "one_watched")
    assert run.steps == 20
    assert not run.series("grad_norm")
    assert "record of rank 1 is not here, so the norms of sharded parameters are not known" in run.notes[0]
    assert "One run of 2 ranks" in open_run(folder / "same_data").notes[0]
