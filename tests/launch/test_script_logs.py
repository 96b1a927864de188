"""What a script logs by itself is observed, whatever it logs with: the real packages, offline."""

from __future__ import annotations

import importlib.util

import pytest
from tests.launch.processes import BEDSIDE, run, written

import bedside
from bedside.launch.script_logs import vital_of

TRAINING = """
import torch
from torch import nn
{setup}
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
w = torch.randn(8, 3)
for epoch in range(4):
    model.train()
    for step in range(20):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(model(x), (x @ w).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    val_loss, acc, epoch_loss = 1.0 / (epoch + 1), 0.5 + epoch / 10, loss.item()
    {log}
{end}
"""
SOURCES = {
    "tensorboard": (
        "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('tb')",
        "writer.add_scalar('Loss/val', val_loss, epoch); writer.add_scalars('Accuracy', {'val': acc}, epoch); "
        "writer.add_scalar('Loss/train', epoch_loss, epoch)",
        "writer.close()",
    ),
    "wandb": (
        "import os\nos.environ['WANDB_MODE'] = 'offline'\nos.environ['WANDB_SILENT'] = 'true'\nimport wandb\n"
        "wandb.init(project='p', dir='.')",
        "wandb.log({'train/loss': epoch_loss, 'val/loss': val_loss, 'val/accuracy': acc, 'epoch': epoch})",
        "wandb.finish()",
    ),
    "mlflow": (
        "import os\nos.environ['MLFLOW_ALLOW_FILE_STORE'] = 'true'\nimport mlflow\nmlflow.set_tracking_uri('file:m')\n"
        "mlflow.start_run()",
        "mlflow.log_metric('val_loss', val_loss, step=epoch); mlflow.log_metrics({'val_accuracy': acc}, step=epoch)",
        "mlflow.end_run()",
    ),
    "comet_ml": (
        "import comet_ml\nfrom comet_ml import OfflineExperiment\n"
        "experiment = OfflineExperiment(project_name='p', offline_directory='.', log_code=False, log_graph=False, "
        "auto_metric_logging=False, auto_param_logging=False, log_env_details=False)",
        "experiment.log_metric('val_loss', val_loss); experiment.log_metrics({'accuracy': acc}, prefix='val')",
        "experiment.end()",
    ),
}


@pytest.mark.parametrize("package", SOURCES)
def test_validation_metrics_are_heard_from_the_script_s_own_logger(tmp_path, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    setup, log, end = SOURCES[package]
    name = written(tmp_path, TRAINING.format(setup=setup, log=log, end=end))
    launched = run([*BEDSIDE, "--run-dir", "run", name], tmp_path)
    assert launched.returncode == 0, launched.stderr
    recorded = bedside.load(tmp_path / "run")
    assert len(recorded.loss) == 80
    losses, accuracies = recorded.series("val/loss"), recorded.series("val/accuracy")
    assert list(losses.steps) == [19, 39, 59, 79]
    assert losses.values == pytest.approx([1.0, 0.5, 1 / 3, 0.25], rel=1e-6)
    assert accuracies.values == pytest.approx([0.5, 0.6, 0.7, 0.8], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "validating", "vital"),
    [
        ("Loss/val", False, "val/loss"),
        ("eval_loss", False, "val/loss"),
        ("test_acc", False, "test/accuracy"),
        ("accuracy", True, "val/accuracy"),
        ("accuracy", False, "train/accuracy"),
        ("loss", True, "val/loss"),
        ("loss", False, None),
        ("train/loss", True, None),
        ("lr", False, None),
        ("learning_rate", True, None),
        ("grad_norm", False, None),
        ("charts/episodic_return", False, "charts/episodic_return"),
    ],
)
def test_what_is_measured_anyway_is_left_out(name, validating, vital):
    assert vital_of(name, validating) == vital
