"""What all tests share."""

from __future__ import annotations

import math

import pytest

from bedside import stderr
from bedside.collect.reading.native import sums as native
from bedside.collect.sampling import budget


@pytest.fixture(autouse=True)
def unexpected_warnings_of_ours_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run with warnings as errors, which ours would survive as a line on stderr; here they may not."""

    def fail(message: str) -> None:
        raise AssertionError(message)

    monkeypatch.setattr(stderr, "_instead_of_raising", fail)


@pytest.fixture(autouse=True)
def the_clock_ends_no_full_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many of the first steps are recorded in full depends on how long they take; on a busy machine tests would
    find fewer of them than on a quiet one."""
    monkeypatch.setattr(budget, "FULL_RECORDING_SHARE", math.inf)


@pytest.fixture(params=["plain", "native"])
def way(request, monkeypatch):
    """With torch and numpy alone, and with native code."""
    if request.param == "plain":
        monkeypatch.setattr(native, "_kernels", None)
        monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    elif not native.load():
        pytest.skip("numba is not installed")
    return request.param
