"""The black box: the bad step kept, the weights guarded, and the step run again.

    monitor = bedside.watch(model, optimizer, black_box=True, on_nan="skip")
    ...
    incident = bedside.incident.load("runs/a")  # the first step that went wrong
    print(incident.replay(model, loss_fn))  # the operation, the line of code, the samples

Modules are loaded when they are used: listing incidents needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bedside.incident.black_box import BlackBox as BlackBox
    from bedside.incident.guard.guard import NonFiniteStep as NonFiniteStep
    from bedside.incident.incident import Incident as Incident
    from bedside.incident.incident import load as load
    from bedside.incident.replay.replay_result import Replay as Replay

_HOMES = {
    "BlackBox": "bedside.incident.black_box",
    "NonFiniteStep": "bedside.incident.guard.guard",
    "Incident": "bedside.incident.incident",
    "load": "bedside.incident.incident",
    "Replay": "bedside.incident.replay.replay_result",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bedside.incident' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
