"""Norms of what several ranks hold are those that one process would have measured, and cost no collective."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.monitor.ranks.launched import launched
from tests.monitor.ranks.network import CLIP, RATE, STEPS, alone

import bedside
from bedside.record.sqlite.reader import open_run

reference = cache(alone)

# program: how many ranks get batches of their own, and whether the loop clips
TWO = {"ddp": (2, True), "fsdp": (2, True), "fsdp_unclipped": (2, False), "tensor_parallel": (1, False)}
FOUR = {
    "ddp": (4, True),
    "hybrid_sharded": (4, False),
    "sharded_and_parallel": (2, False),
    "tensor_parallel": (1, False),
}
CASES = [(2, name) for name in TWO] + [(4, name) for name in FOUR]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folders = {ranks: tmp_path_factory.mktemp(f"ranks{ranks}") for ranks in (2, 4)}
    launched(folders[2], *TWO, "sequence_parallel", ranks=2)
    launched(folders[4], *FOUR, ranks=4)
    return folders


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_norms_of_every_module_are_those_of_one_process(trained, ranks, name):
    parts, clip = (TWO if ranks == 2 else FOUR)[name]
    run = open_run(trained[ranks] / name)
    expected = reference(parts, clip)
    for vital, by_owner in expected.items():
        for owner, norms in by_owner.items():
            series = run.series(vital, owner)
            assert series.steps.tolist() == list(range(STEPS)), (vital, owner)
            np.testing.assert_allclose(series.values, norms, rtol=1e-5, err_msg=f"{vital}/{owner}")
    moved, weights = run.series("update_norm", "head"), run.series("param_norm", "head")
    relative = run.series("relative_update_norm", "head")
    np.testing.assert_allclose(relative.values, moved.values / weights.values, rtol=1e-5)
    np.testing.assert_allclose(run.series("effective_lr_ratio").values, RATE, rtol=1e-4)
    assert not run.series("nonfinite_grads").values.any()
    if clip:
        assert (run.series("grad_norm_clipped").values <= CLIP * 1.001).all()


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_every_rank_reads_the_same_whole(trained, ranks, name):
    runs = [open_run(trained[ranks] / name, rank) for rank in range(ranks)]
    for other in runs[1:]:
        np.testing.assert_allclose(other.series("grad_norm").values, runs[0].series("grad_norm").values, rtol=1e-5)


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_watching_adds_no_collective_and_changes_no_weight(trained, ranks, name):
    for rank in range(ranks):
        found = json.loads((trained[ranks] / f"{name}-{rank}.json").read_text())
        assert found["watched"] == found["unwatched"] > 0
        assert found["same_weights"]


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_trackers_get_the_norms_of_the_whole(trained, ranks, name):
    """What the other ranks had written when rank 0 ended; a share of it is never passed off as the whole."""
    run = open_run(trained[ranks] / name)
    whole = dict(zip(run.series("grad_norm").steps.tolist(), run.series("grad_norm").values.tolist(), strict=True))
    lines = (trained[ranks] / f"{name}.jsonl").read_text().splitlines()
    sent = [each for each in map(json.loads, lines) if "grad_norm/overall" in each]
    assert name != "ddp" or len(sent) == STEPS
    for each in sent:
        assert each["grad_norm/overall"] == pytest.approx(whole[each["step"]], rel=1e-4)


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_no_part_of_the_monitor_gave_up(trained, ranks, name):
    for rank in range(ranks):
        assert not open_run(trained[ranks] / name, rank).events_of("switched_off")


@pytest.mark.parametrize(("ranks", "name"), CASES)
def test_a_healthy_run_of_several_ranks_is_not_alarmed(trained, ranks, name):
    found = {each.code for each in bedside.diagnose(trained[ranks] / name).findings}
    found.discard("GRD103")  # those that clip, clip at every step
    assert not [code for code in found if code.startswith(("DST", "LOP", "GRD", "UPD", "NUM"))]


def test_ranks_that_share_a_batch_on_purpose_are_known(trained):
    groups = {name: open_run(trained[4] / name).of("rank_batch_group") for name in FOUR}
    assert [each.last for each in groups["sharded_and_parallel"]] == [0, 0, 2, 2]
    assert [each.last for each in groups["tensor_parallel"]] == [0, 0, 0, 0]
    assert [each.last for each in groups["hybrid_sharded"]] == [0, 1, 2, 3]
    assert [each.last for each in groups["ddp"]] == [0, 1, 2, 3]


def test_what_was_known_before_the_first_step_stands_there(trained):
    run = open_run(trained[2] / "ddp")
    for vital in ("rank_initial_norm", "rank_batch_group"):
        assert [each.last_step for each in run.of(vital)] == [0, 0]
    assert all(each.last_step > 0 for each in run.of("rank_finished"))


def test_a_gradient_that_nobody_has_summed_yet_is_not_shown(trained):
    run = open_run(trained[2] / "sequence_parallel")
    assert not run.series("grad_norm", "norm")  # each rank has the gradient of its part of the sequence
    assert not run.series("grad_norm")  # nor is the whole known, then
    assert len(run.series("grad_norm", "up")) == STEPS
    assert len(run.series("param_norm", "norm")) == STEPS
    assert not run.events_of("switched_off")
