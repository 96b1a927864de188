"""bedside: the bedside monitor for neural-network training.

The public names are loaded on first use: importing bedside loads neither torch nor numpy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bedside import incident as incident
    from bedside import lab as lab
    from bedside import sinks as sinks
    from bedside.api import compare as compare
    from bedside.api import diagnose as diagnose
    from bedside.api import load as load
    from bedside.comparison.result import Comparison as Comparison
    from bedside.errors import BedsideError as BedsideError
    from bedside.finding import Diagnosis as Diagnosis
    from bedside.finding import Finding as Finding
    from bedside.finding import Severity as Severity
    from bedside.monitor.monitor import Monitor as Monitor
    from bedside.monitor.watch import watch as watch
    from bedside.preflight.preflight import preflight as preflight
    from bedside.record.run import Run as Run

_HOMES = {
    "watch": "bedside.monitor.watch",
    "Monitor": "bedside.monitor.monitor",
    "preflight": "bedside.preflight.preflight",
    "diagnose": "bedside.api",
    "compare": "bedside.api",
    "load": "bedside.api",
    "Comparison": "bedside.comparison.result",
    "Run": "bedside.record.run",
    "Diagnosis": "bedside.finding",
    "Finding": "bedside.finding",
    "Severity": "bedside.finding",
    "BedsideError": "bedside.errors",
}

_ROOMS = ("incident", "lab", "sinks")  # modules that are used by their name: bedside.lab.lr_range(...)

__all__ = [*_HOMES, *_ROOMS, "__version__"]


class _Bedside(ModuleType):
    """`bedside.preflight` is the function, also when somebody has loaded the package of that name before."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Bedside


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'bedside' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
