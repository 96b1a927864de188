"""What the black box may use: `watch(..., black_box=BlackBox(max_bytes=2_000_000_000, keep=5))`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bedside.errors import BadOption, install_extra


@dataclass(frozen=True)
class BlackBox:
    """How much is kept of a step that goes wrong, and how many of them."""

    max_bytes: int = 4_000_000_000  # of one incident on disk; what is too large for it is left out, and said to be
    keep: int = 3  # incidents of a run: the first ones, because what follows a bad step is mostly its consequence
    redact: Callable[[Any], Any] | None = None  # called with each value that came out of the loader or into the model
    spike: float | None = 20.0  # times the run's own spread beyond its median; None: only what is not finite
    history: int = 300  # steps of all vitals before the incident

    def __post_init__(self) -> None:
        for name, value, least in (
            ("max_bytes", self.max_bytes, 1),
            ("keep", self.keep, 1),
            ("history", self.history, 0),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise BadOption(
                    f"{name}={value!r} is not a number of {_WHAT[name]}.",
                    expected=f"a whole number from {least} on",
                    try_=f"bedside.watch(model, optimizer, black_box=BlackBox({name}={_USUAL[name]}))",
                )
        if self.redact is not None and not callable(self.redact):
            raise BadOption(
                f"redact={self.redact!r} cannot be called.",
                expected="a function from a batch to what may be saved of it",
                try_="BlackBox(redact=lambda batch: {**batch, 'name': None})",
            )
        if self.spike is not None and not (isinstance(self.spike, int | float) and self.spike > 0):
            raise BadOption(
                f"spike={self.spike!r} is not a multiple of the run's spread.",
                expected="a number above 0, such as 20, or None",
                try_="bedside.watch(model, optimizer, black_box=BlackBox(spike=20))",
            )


_WHAT = {"max_bytes": "bytes", "keep": "incidents", "history": "steps"}
_USUAL = {"max_bytes": 2_000_000_000, "keep": 3, "history": 300}


def black_box_of(given: Any) -> BlackBox | None:
    """What the user gave to `watch`: True, a BlackBox, or nothing."""
    if given is None or given is False:
        return None
    if given is True:
        given = BlackBox()
    if not isinstance(given, BlackBox):
        raise BadOption(
            f"black_box={given!r} is not a black box.",
            expected="True, or bedside.incident.BlackBox(max_bytes=…, keep=…, redact=…)",
            try_="bedside.watch(model, optimizer, black_box=True)",
        )
    _needs_safetensors()
    return given


def _needs_safetensors() -> None:
    try:
        import safetensors  # noqa: F401
    except ImportError:
        raise BadOption(
            "black_box needs safetensors, which is not installed.",
            expected="safetensors, which saves tensors without pickle",
            try_=install_extra("incident"),
        ) from None
