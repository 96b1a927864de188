"""Comet, online or offline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bedside.finding import Finding
from bedside.sinks.sink import Ending, Sink, advice, as_yaml, headline, needs


class Comet(Sink):
    """An experiment that exists (which stays open), or an offline one of our own in `offline_directory`."""

    name = "Comet"

    def __init__(self, experiment: Any = None, *, offline_directory: str | Path | None = None, **more: Any) -> None:
        needs("Comet", "comet_ml")
        self._experiment = experiment
        self._own = experiment is None
        self._folder = offline_directory
        self._more = more

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        if self._experiment is None:
            from comet_ml import OfflineExperiment

            # Nothing but our numbers: no code, no git, no environment, no patched frameworks.
            plain = dict.fromkeys(("log_code", "log_graph", "log_git_metadata", "log_env_details"), False)
            automatic = dict.fromkeys(("auto_metric_logging", "auto_param_logging", "parse_args"), False)
            options = {"project_name": "bedside", **plain, **automatic, **self._more}
            self._experiment = OfflineExperiment(offline_directory=str(self._folder or run_dir / "comet"), **options)
        self._experiment.log_asset_data(as_yaml(config), name="bedside-config.yaml")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._experiment.log_metrics(dict(values), step=step)

    def finding(self, step: int, finding: Finding) -> None:
        self._experiment.add_tag(finding.code)
        self._experiment.log_text(f"{headline(finding)}\n{advice(finding)}", step=step)

    def close(self, ending: Ending) -> None:
        self._experiment.log_other("bedside/verdict", ending.verdict)
        if ending.html is not None:
            self._experiment.log_asset(str(ending.html), file_name="bedside-report.html")
        if self._own:
            self._experiment.end()
