"""What a sink is: a place for numbers and findings besides the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bedside.errors import BadOption
from bedside.finding import Finding
from bedside.record.histograms import Histogram


@dataclass(frozen=True)
class Ending:
    """What is known when the run is over."""

    verdict: str
    text: str  # the report as text
    html: Path | None  # the report as a page, if it could be written


class Sink:
    """One tracker. All methods are called by the forwarding thread only, `open` first and `close` last; any of them may
    raise, which costs this sink and nothing else."""

    name = "sink"
    per_module = True  # whether it also gets the series of single modules

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        """Before the first numbers; `config` is what is known about the run so far."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers of one step, under the names of `names.py`."""
        raise NotImplementedError

    def histogram(self, step: int, name: str, histogram: Histogram) -> None:
        """The distribution of weights, gradients or outputs of a module, where the tracker can show it."""

    def finding(self, step: int, finding: Finding) -> None:
        """An alarm, when it begins."""

    def close(self, ending: Ending) -> None:
        """The run is over."""


def needs(sink: str, module: str, package: str = "") -> None:
    """Refuses a tracker that is not installed, when it is asked for and not when the training has begun."""
    try:
        found = find_spec(module) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise BadOption(
            f"{sink} needs the package {package or module}, which is not installed.",
            expected=f"{package or module} in this environment",
            try_=f"pip install {package or module}",
        )


def headline(finding: Finding) -> str:
    """`GRD101 vanishing-gradient`: the title of an alert."""
    return f"{finding.code} {finding.name}"


def advice(finding: Finding) -> str:
    """The message and what to try, as plain text."""
    return "\n".join([finding.message, *(f"{n}. {what}" for n, what in enumerate(finding.try_, 1))])


def as_yaml(config: Mapping[str, Any], indent: int = 0) -> str:
    """A config as YAML: mappings by indentation, everything else as JSON, which YAML reads."""
    lines = []
    for key, value in config.items():
        start = f"{'  ' * indent}{key}:"
        if isinstance(value, Mapping):
            lines += [start, as_yaml(value, indent + 1)] if value else [f"{start} {{}}"]
        else:
            lines.append(f"{start} {json.dumps(value, default=str)}")
    return "\n".join(lines)
