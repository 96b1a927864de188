"""What the real tools wrote is read back number by number: fixtures for the heavy ones, live for the others."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.logs.fixtures import known

from bedside.logs import load

FIXTURES = Path(__file__).parent / "fixtures"
EVERY_STEP = list(range(known.STEPS))
EVALUATIONS = list(known.evaluations())


@pytest.fixture
def fixture(tmp_path):
    """A committed file or folder in a place of its own, unpacked if it is packed."""

    def copy(name: str) -> Path:
        source, target = FIXTURES / name, tmp_path / name.removesuffix(".gz")
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.suffix == ".gz":
            target.write_bytes(gzip.decompress(source.read_bytes()))
        else:
            shutil.copy(source, target)
        return target

    return copy


def same(series, steps, function):
    assert series.steps.tolist() == list(steps)
    np.testing.assert_array_equal(series.values, [function(step) for step in steps])


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("run-known.wandb", "wandb"),
        ("mlflow.db.gz", "mlflow"),
        ("mlruns", "mlflow"),
        ("comet-known.zip", "comet"),
        ("trackio.db.gz", "trackio"),
    ],
)
def test_trackers_are_read_back_with_their_nan_and_infinity(fixture, name, format):
    run = load(fixture(name))
    assert run.format == format
    same(run.loss, EVERY_STEP, known.loss)
    same(run.series("grad_norm"), EVERY_STEP, known.grad_norm)
    same(run.series("val/loss"), EVALUATIONS, known.val_loss)
    same(run.series("val/accuracy"), EVALUATIONS, known.accuracy)
    assert run.config["learning_rate"] == 0.01
    assert run.config["batch_size"] == 32


@pytest.mark.parametrize("name", ["keras_training.csv", "keras_history.json"])
def test_keras_is_read_back_by_epoch(fixture, name):
    run = load(fixture(name))
    assert (run.format, run.axis) == ("keras", "epoch")
    same(run.loss, EVERY_STEP, known.loss)
    same(run.series("val/loss"), EVERY_STEP, known.val_loss)
    same(run.series("train/accuracy"), EVERY_STEP, known.accuracy)


def test_a_finished_run_is_known_as_finished(fixture):
    assert load(fixture("run-known.wandb")).finished is True
    assert load(fixture("mlruns")).finished is True


@pytest.mark.parametrize("kind", ["torch", "batched"])
def test_tensorboard_is_read_back(tmp_path, kind):
    event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    for step in EVERY_STEP:
        values = {"train/loss": known.loss(step), "lr": known.rate(step)}
        if step in EVALUATIONS:
            values["val/loss"] = known.val_loss(step)
        summaries = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        groups = [summaries] if kind == "batched" else [[each] for each in summaries]
        for group in groups:
            writer.add_event(event_pb2.Event(wall_time=1e9 + step, step=step, summary=Summary(value=group)))
    writer.close()
    run = load(tmp_path)
    assert run.format == "tensorboard"
    single = lambda function: lambda step: np.float64(np.float32(function(step)))  # noqa: E731  # the file holds floats
    same(run.loss, EVERY_STEP, single(known.loss))
    same(run.series("lr"), EVERY_STEP, single(known.rate))
    same(run.series("val/loss"), EVALUATIONS, single(known.val_loss))


@pytest.mark.slow
def test_lightning_is_read_back(tmp_path):
    pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(tmp_path, name="", version=0)
    logger.log_hyperparams(known.CONFIG)
    for step in EVERY_STEP:
        logger.log_metrics({"train_loss": known.loss(step), "epoch": step // 10}, step=step)
        if step in EVALUATIONS:
            logger.log_metrics({"val_loss": known.val_loss(step), "epoch": step // 10}, step=step)
    logger.save()
    run = load(tmp_path)
    assert run.format == "lightning"
    same(run.loss, EVERY_STEP, known.loss)
    same(run.series("val/loss"), EVALUATIONS, known.val_loss)
    assert run.config["learning_rate"] == 0.01


@pytest.mark.slow
def test_the_hf_trainer_is_read_back_and_its_hidden_nan_found(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))
            self.calls = 0

        def forward(self, x, labels=None):
            self.calls += 1
            if self.calls == 4:  # from here on every loss is NaN, and the Trainer writes 0.0
                self.weight.data.fill_(float("nan"))
            return {"loss": (self.weight**2 * x).mean() + 1.0}

    data = [{"x": torch.ones(1), "labels": torch.ones(1)} for _ in range(8)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=1, per_device_train_batch_size=1, logging_steps=1, report_to="none",
        save_strategy="no", disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=data)
    trainer.train()
    trainer.state.save_to_json(str(tmp_path / "trainer_state.json"))
    said = [record["loss"] for record in trainer.state.log_history if "loss" in record]
    assert said[3:] == [0.0] * 5, "the Trainer no longer hides NaN: the reader may be simplified"
    run = load(tmp_path)
    np.testing.assert_array_equal(run.loss.values[:3], said[:3])
    assert np.isnan(run.loss.values[3:]).all()
    assert any("NaN" in note for note in run.notes)
    assert run.config["max_steps"] == 8
    assert run.finished is True
