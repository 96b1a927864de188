"""bedside: the bedside monitor for neural-network training.

The public names are loaded on first use: importing bedside loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bedside.collect.monitor import Monitor as Monitor
    from bedside.collect.watch import watch as watch
    from bedside.compare import compare as compare
    from bedside.comparison import Comparison as Comparison
    from bedside.diagnose import diagnose as diagnose
    from bedside.errors import BedsideError as BedsideError
    from bedside.finding import Diagnosis as Diagnosis
    from bedside.finding import Finding as Finding
    from bedside.finding import Severity as Severity
    from bedside.logs import load as load
    from bedside.record.run import Run as Run

_HOMES = {
    "watch": "bedside.collect.watch",
    "Monitor": "bedside.collect.monitor",
    "diagnose": "bedside.diagnose",
    "compare": "bedside.compare",
    "Comparison": "bedside.comparison",
    "load": "bedside.logs",
    "Run": "bedside.record.run",
    "Diagnosis": "bedside.finding",
    "Finding": "bedside.finding",
    "Severity": "bedside.finding",
    "BedsideError": "bedside.errors",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bedside' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    if home.__name__ == f"{__name__}.{name}":  # a module that answers to a call, such as bedside.diagnose
        return home
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
