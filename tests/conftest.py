"""What all tests share."""

from __future__ import annotations

import pytest

from bedside import errors
from bedside.collect.reading.native import sums as native


@pytest.fixture(autouse=True)
def unexpected_warnings_of_ours_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run with warnings as errors, which ours would survive as a line on stderr; here they may not."""

    def fail(message: str) -> None:
        raise AssertionError(message)

    monkeypatch.setattr(errors, "_instead_of_raising", fail)


@pytest.fixture(params=["plain", "native"])
def way(request, monkeypatch):
    """With torch and numpy alone, and with machine code."""
    if request.param == "plain":
        monkeypatch.setattr(native, "_kernels", None)
        monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    elif not native.load():
        pytest.skip("numba is not installed")
    return request.param
