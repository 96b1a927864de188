"""What all tests share."""

from __future__ import annotations

import pytest

from bedside import errors


@pytest.fixture(autouse=True)
def unexpected_warnings_of_ours_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run with warnings as errors, which ours would survive as a line on stderr; here they may not."""

    def fail(message: str) -> None:
        raise AssertionError(message)

    monkeypatch.setattr(errors, "_instead_of_raising", fail)
