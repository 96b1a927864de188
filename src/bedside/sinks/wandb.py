"""Weights & Biases, online or offline. The x-axis of our metrics is `optimizer_step`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bedside.finding import Finding, Severity
from bedside.record.histograms import EDGES, Histogram
from bedside.sinks.sink import Ending, Sink, advice, headline, needs

AXIS = "optimizer_step"
MAX_BINS = 512  # what W&B takes in one histogram
LARGEST_EDGE = 1e30  # stands for the outermost border, which is infinite


class WandB(Sink):
    """A run of our own (`WandB(project="mine")`, arguments as for `wandb.init`), or one that exists.

    Into an existing run nothing is committed: our numbers go along with the next `wandb.log` of the script's own, whose
    steps therefore stay what they are.
    """

    name = "W&B"

    def __init__(self, run: Any = None, **init: Any) -> None:
        needs("WandB", "wandb")
        self._run = run
        self._init = init
        self._own = run is None
        self._defined: set[str] = set()

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        if self._run is None:
            import wandb

            self._run = wandb.init(**{"dir": str(run_dir), **self._init})
        self._run.define_metric(AXIS, hidden=True)
        self._run.config.update({"bedside": dict(config)}, allow_val_change=True)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._define(values)
        self._run.log({**values, AXIS: step}, commit=self._own)

    def histogram(self, step: int, name: str, histogram: Histogram) -> None:
        import wandb

        there = histogram.counts.nonzero()[0]
        if not len(there):
            return
        first, last = int(there[0]), int(there[-1])
        edges = EDGES[first : last + 2].clip(-LARGEST_EDGE, LARGEST_EDGE)
        counts = histogram.counts[first : last + 1]
        self._define([name])
        drawn = wandb.Histogram(np_histogram=(counts[:MAX_BINS], edges[: MAX_BINS + 1]))
        self._run.log({name: drawn, AXIS: step}, commit=self._own)

    def finding(self, step: int, finding: Finding) -> None:
        level = "ERROR" if finding.severity >= Severity.ERROR else "WARN"
        self._run.alert(title=headline(finding), text=f"step {step}: {advice(finding)}", level=level)
        self._run.tags = (*(self._run.tags or ()), finding.code)

    def close(self, ending: Ending) -> None:
        self._run.summary["bedside/verdict"] = ending.verdict
        if ending.html is not None:
            import wandb

            artifact = wandb.Artifact(f"bedside-report-{self._run.id}", type="report")
            artifact.add_file(str(ending.html))
            self._run.log_artifact(artifact)
        if self._own:
            self._run.finish()

    def _define(self, names: Any) -> None:
        for name in names:
            if name not in self._defined:
                self._defined.add(name)
                self._run.define_metric(name, step_metric=AXIS)
