"""What several tests of collectors need."""

from __future__ import annotations

import pytest

from bedside.collect.reading.native import sums as native


@pytest.fixture(params=["plain", "native"])
def way(request, monkeypatch):
    """With torch and numpy alone, and with machine code."""
    if request.param == "plain":
        monkeypatch.setattr(native, "_kernels", None)
        monkeypatch.setenv("BEDSIDE_NATIVE", "0")
    elif not native.load():
        pytest.skip("numba is not installed")
    return request.param
