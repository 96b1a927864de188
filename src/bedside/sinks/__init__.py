"""Vitals and findings out to other trackers, beside the record that is always kept.

    import bedside
    from bedside.sinks import TensorBoard, WandB

    monitor = bedside.watch(model, optimizer, sinks=[TensorBoard("runs/a"), WandB(project="mine")])

Each takes an existing writer or run, or makes one. Forwarding happens in a background thread (`forwarding.py`), under
the names that practitioners plot (`names.py`); a tracker that is slow or fails costs the training nothing.
"""

from bedside.sinks.comet import Comet
from bedside.sinks.files import Csv, JsonLines
from bedside.sinks.mlflow import MLflow
from bedside.sinks.sink import Sink
from bedside.sinks.tensorboard import TensorBoard
from bedside.sinks.wandb import WandB

__all__ = ["Comet", "Csv", "JsonLines", "MLflow", "Sink", "TensorBoard", "WandB"]
