"""Each tracker gets what the record has, under the names of the design: real packages, read back by their own means."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.sinks.watched_into_sinks import train

import bedside
from bedside.errors import BadOption
from bedside.sinks import Comet, Csv, JsonLines, MLflow, TensorBoard, WandB

DIVERGES = 3.0  # a learning rate


@pytest.fixture
def accumulator():
    return pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator


def test_tensorboard_has_every_step_under_the_names_of_the_design(tmp_path, accumulator):
    run = train(tmp_path / "run", [TensorBoard(tmp_path / "tb")], histograms=True)
    events = accumulator(str(tmp_path / "tb"), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    tags = events.Tags()
    assert {"train/loss", "lr", "grad_norm/overall", "grad_norm/0", "param_norm", "val/loss", "val/accuracy"} <= {
        *tags["scalars"]
    }
    losses = events.Scalars("train/loss")
    assert [each.step for each in losses] == list(run.loss.steps)
    np.testing.assert_allclose([each.value for each in losses], run.loss.values, rtol=1e-6)
    assert [each.step for each in events.Scalars("val/loss")] == [19, 39, 59]
    assert any(tag.startswith("weights/") for tag in tags["histograms"])
    assert "bedside/report/text_summary" in tags["tensors"]
    config = events.Tensors("bedside/config/text_summary")[0].tensor_proto.string_val[0].decode()
    assert 'data: "toy"' in config


def test_a_writer_that_exists_is_used_and_stays_open(tmp_path, accumulator):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "tb"))
    train(tmp_path / "run", [TensorBoard(writer=writer)])
    writer.add_scalar("mine", 1.0, 7)
    writer.close()
    events = accumulator(str(tmp_path / "tb"))
    events.Reload()
    assert {"mine", "train/loss"} <= {*events.Tags()["scalars"]}


def test_findings_are_texts_in_tensorboard(tmp_path, accumulator):
    with np.errstate(all="ignore"):
        train(tmp_path / "run", [TensorBoard(tmp_path / "tb")], steps=120, lr=DIVERGES)
    events = accumulator(str(tmp_path / "tb"))
    events.Reload()
    assert any(tag.startswith("findings/NUM") for tag in events.Tags()["tensors"])


def test_wandb_offline_has_our_step_as_its_axis(tmp_path):
    wandb = pytest.importorskip("wandb")
    mine = wandb.Settings(silent=True, console="off", quiet=True)
    with np.errstate(all="ignore"):
        run = train(
            tmp_path / "run",
            [WandB(project="p", mode="offline", dir=str(tmp_path), settings=mine)],
            steps=120,
            lr=DIVERGES,
        )
    [file] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    back = bedside.load(file)
    record = dict(zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True))
    assert len(back.loss) >= 3  # on a busy machine the budget leaves some steps out
    axis = back.series("optimizer_step")
    step_of = dict(zip(axis.steps.tolist(), axis.values.tolist(), strict=True))  # W&B's own count, and ours
    for row, value in zip(back.loss.steps.tolist(), back.loss.values.tolist(), strict=True):
        assert value == pytest.approx(record[step_of[row]], rel=1e-5, nan_ok=True)
    raw = file.read_bytes()
    assert b"optimizer_step" in raw
    assert b"NUM101 nonfinite-loss" in raw  # the alert
    assert b"bedside-report" in raw  # the artifact


def test_into_an_existing_wandb_run_nothing_is_committed(tmp_path):
    wandb = pytest.importorskip("wandb")
    mine = wandb.Settings(silent=True, console="off", quiet=True)
    run = wandb.init(project="p", mode="offline", dir=str(tmp_path), settings=mine)
    try:
        run.log({"their": 1.0}, step=3)
        train(tmp_path / "run", [WandB(run)])
        assert run.step == 3
        run.log({"their": 2.0}, step=5)
        assert run.step == 5
    finally:
        run.finish()


def test_mlflow_gets_the_whole_model_but_no_single_modules(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"file:{tmp_path / 'mlruns'}"
    with np.errstate(all="ignore"):
        run = train(tmp_path / "run", [MLflow(tracking_uri=uri, experiment="e")], steps=120, lr=DIVERGES)
    client = mlflow.MlflowClient(tracking_uri=uri)
    [found] = client.search_runs([client.get_experiment_by_name("e").experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.tags["bedside.verdict"] == "sick"
    assert "NaN" in found.data.tags["bedside.NUM101"] or "finite" in found.data.tags["bedside.NUM101"]
    history = client.get_metric_history(found.info.run_id, "train/loss")
    record = dict(zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True))
    assert len(history) >= 3
    assert all(each.value == pytest.approx(record[each.step], rel=1e-5, nan_ok=True) for each in history)
    assert "grad_norm/overall" in found.data.metrics
    assert "grad_norm/0" not in found.data.metrics
    assert {each.path for each in client.list_artifacts(found.info.run_id, "bedside")} >= {
        "bedside/config.yaml",
        "bedside/report.html",
    }


def test_comet_offline_has_metrics_and_tags(tmp_path):
    pytest.importorskip("comet_ml")
    run = train(tmp_path / "run", [Comet(offline_directory=tmp_path / "comet")])
    [archive] = (tmp_path / "comet").glob("*.zip")
    back = bedside.load(archive)
    record = dict(zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True))
    assert len(back.loss) >= 3
    assert all(
        value == pytest.approx(record[step], rel=1e-5)
        for step, value in zip(back.loss.steps, back.loss.values, strict=True)
    )


def test_plain_files_can_be_diagnosed_again(tmp_path):
    run = train(tmp_path / "run", [JsonLines(tmp_path / "a.jsonl"), Csv(tmp_path / "a.csv")])
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["train/loss"] for line in lines if "train/loss" in line}
    assert losses == pytest.approx(dict(zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True)), rel=1e-6)
    assert lines[-1] == {"verdict": bedside.diagnose(tmp_path / "run").verdict}
    header, *rows = (tmp_path / "a.csv").read_text().splitlines()
    assert header == "step,name,value"
    assert sum(row.split(",")[1] == "train/loss" for row in rows) == 60


def test_a_tracker_that_is_not_installed_is_refused_when_it_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "comet_ml", None)
    with pytest.raises(BadOption, match="Comet needs the package comet_ml, which is not installed"):
        Comet()
