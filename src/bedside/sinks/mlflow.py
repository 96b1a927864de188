"""MLflow. Its stores take tens of milliseconds for a step of many metrics, so single modules stay in our record."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bedside.finding import Finding
from bedside.sinks.sink import Ending, Sink, advice, as_yaml, needs

_FORBIDDEN = re.compile(r"[^\w\-. /:]")  # in the name of a metric
MAX_TAG_LENGTH = 5000  # characters


class MLflow(Sink):
    """A run of our own in `experiment`, or the one with `run_id` (which stays open)."""

    name = "MLflow"
    per_module = False

    def __init__(
        self,
        run_id: str | None = None,
        *,
        tracking_uri: str | None = None,
        experiment: str = "bedside",
        per_module: bool = False,
    ) -> None:
        needs("MLflow", "mlflow", "mlflow-skinny")
        self._run_id = run_id
        self._own = run_id is None
        self._uri = tracking_uri
        self._experiment = experiment
        self.per_module = per_module
        self._client: Any = None

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=self._uri)
        if self._run_id is None:
            found = self._client.get_experiment_by_name(self._experiment)
            experiment = found.experiment_id if found is not None else self._client.create_experiment(self._experiment)
            self._run_id = self._client.create_run(experiment, run_name=run_dir.name).info.run_id
        self._client.log_text(self._run_id, as_yaml(config), "bedside/config.yaml")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(_FORBIDDEN.sub("_", name), value, now, step) for name, value in values.items()]
        self._client.log_batch(self._run_id, metrics=metrics, synchronous=True)

    def finding(self, step: int, finding: Finding) -> None:
        text = f"{finding.name}, step {step}: {advice(finding)}"
        self._client.set_tag(self._run_id, f"bedside.{finding.code}", text[:MAX_TAG_LENGTH])

    def close(self, ending: Ending) -> None:
        self._client.set_tag(self._run_id, "bedside.verdict", ending.verdict)
        self._client.log_text(self._run_id, ending.text, "bedside/report.txt")
        if ending.html is not None:
            self._client.log_artifact(self._run_id, str(ending.html), "bedside")
        if self._own:
            self._client.set_terminated(self._run_id)
