"""The examples run, and the three that teach the vitals print the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import bedside
from bedside.lab import EXPERIMENTS

EXAMPLES = Path(__file__).parent.parent / "examples"


def printed(name: str, *args: str, folder: Path | None = None) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_vitals_by_hand_in_numpy_and_with_bedside():
    by_hand = printed("vitals_by_hand.py")
    assert len(by_hand.splitlines()) == 7
    assert printed("vitals_in_numpy.py") == by_hand
    assert printed("vitals_with_bedside.py") == by_hand


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_example_of_every_experiment_says_what_its_page_shows(name, tmp_path):
    said = printed(f"lab/{name}.py", folder=tmp_path)
    shown = (EXAMPLES.parent / f"docs/pictures/lab/{name}.txt").read_text(encoding="utf-8")
    assert said.split()[:3] == shown.split()[:3]  # the answer; its digits may differ on another processor
    assert (tmp_path / f"{name}.png").exists() == (EXAMPLES.parent / f"docs/pictures/lab/{name}.png").exists()


@pytest.fixture(scope="module")
def production(tmp_path_factory) -> tuple[Path, Path]:
    """The production loop in one go, and preempted after its fifth epoch and resumed."""
    folder = tmp_path_factory.mktemp("production")
    straight, resumed = folder / "straight", folder / "resumed"
    printed("production_loop.py", str(straight), *(["--wandb"] if find_spec("wandb") else []))
    printed("production_loop.py", str(resumed), "--stop-after", "4")
    printed("production_loop.py", str(resumed), "--resume")
    return straight, resumed


def test_the_production_loop_ends_healthy_also_when_it_was_resumed(production):
    for folder in production:
        diagnosis = bedside.diagnose(folder / "record")
        assert (diagnosis.verdict, diagnosis.steps) == ("healthy", 264), str(diagnosis)


def test_a_resumed_production_loop_ends_with_the_same_bits_on_one_axis(production):
    import torch

    straight, resumed = (torch.load(folder / "checkpoint.pt")["model"] for folder in production)
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)
    runs = [bedside.load(folder / "record") for folder in production]
    assert [list(run.loss.steps) for run in runs] == [list(range(264))] * 2
    assert list(runs[0].loss.values) == list(runs[1].loss.values)
    assert list(runs[0]["lr"].values) == list(runs[1]["lr"].values)


def test_the_production_loop_records_what_it_says(production):
    run = bedside.load(production[0] / "record")
    assert set(run.series("micro_batches").values) == {2}
    assert set(run.series("clip_threshold").values) == {2}
    assert run["lr"].values[0] < run["lr"].values[25] > run["lr"].values[-1]
    assert len(run["val/loss"]) == len(run["val/accuracy"]) == 12
    for vital in ("loss_by_category", "val/loss_by_category"):
        assert sorted(run.owners(vital)) == list("0123456789")
    assert run.config["accumulate"] == 2


@pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed")
def test_a_third_tracker_of_the_production_loop_works_offline(production):
    drawn = bedside.load(production[0] / "wandb")
    assert len(drawn["val/loss"]) == 12
    assert drawn["train/loss"].values[-1] < drawn["train/loss"].values[0]


def test_both_trackers_of_the_production_loop_get_the_same_numbers(production):
    straight, resumed = production
    lines = [json.loads(line) for line in (resumed / "metrics.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["train/loss"] for line in lines if "train/loss" in line}
    assert sorted(losses) == list(range(264))
    drawn = bedside.load(straight / "tensorboard")
    record = bedside.load(straight / "record")
    assert drawn["train/loss"].values == pytest.approx(record["train/loss"].values, rel=1e-5)
    assert drawn["val/accuracy"].values == pytest.approx(record["val/accuracy"].values, rel=1e-5)
    assert {"grad_norm/features.0", "update_norm", "lr"} <= set(drawn.keys())


def test_the_black_box_names_the_line_and_the_sample(tmp_path):
    said = printed("black_box.py", str(tmp_path))
    assert "90 steps, 3 of them skipped" in said
    assert "weights and running means are finite: True" in said
    assert "income = x[:, :1].log()" in said
    assert "The cause is row 0 (index 417 of the data set)" in said


def test_preflight_passes_a_healthy_classifier_and_finds_the_softmax():
    result = printed("preflight.py")
    assert " 0 failed" in result
    assert "PRE102 loss-fits-output: cross_entropy takes scores" in result


def test_two_ranks_know_the_whole_of_a_sharded_model(tmp_path):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launcher, str(EXAMPLES / "several_ranks.py"), str(tmp_path / "run")]
    # Not its exit code: gloo's threads now and then abort a process that ends, watched or not.
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150).stdout
    assert "2 ranks, 120 steps" in said
    assert "accuracy on the samples of all ranks: [" in said
    assert said.endswith("healthy\n")
