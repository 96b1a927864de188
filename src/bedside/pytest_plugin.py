"""A fixture for pytest: `bedside_healthy(run)` fails the test when the training is not healthy, and says why.

    def test_training(bedside_healthy, tmp_path):
        train(run_dir=tmp_path / "run")
        bedside_healthy(tmp_path / "run")

pytest loads this file in every session, so it imports nothing heavy before the fixture is called. On GitHub, a failing
test also becomes an annotation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bedside.finding import Diagnosis

ANNOTATIONS = "bedside annotations"  # on the report of a test: the one thing that gets from a worker to the terminal


@pytest.fixture
def bedside_healthy(request: pytest.FixtureRequest) -> Callable[..., Diagnosis]:
    """Diagnose a run and fail unless it is healthy: `bedside_healthy(run)`, or `(run, allow_unclear=True)`."""

    def check(run: Any, *, allow_unclear: bool = False, **options: Any) -> Diagnosis:
        """Fail the test unless the run is healthy.

        Args:
            run: A run folder, a log, a Run, a Monitor or a Diagnosis.
            allow_unclear: Let a run pass that is too short to show that it learned, as long as nothing is wrong.
            options: `select`, `ignore`, `baseline` and `config`, as for `bedside.diagnose`.

        Returns:
            The Diagnosis.
        """
        __tracebackhide__ = True
        diagnosis = _diagnosed(run, options)
        if diagnosis.verdict == "healthy" or (diagnosis.verdict == "unclear" and allow_unclear):
            return diagnosis
        from bedside.report.github import diagnosis_to_github

        request.node.user_properties.append((ANNOTATIONS, diagnosis_to_github(diagnosis)))
        lenient = "\n\nIf the run is too short to judge on purpose: bedside_healthy(run, allow_unclear=True)"
        pytest.fail(f"{diagnosis}{lenient if diagnosis.verdict == 'unclear' else ''}", pytrace=False)

    return check


def _diagnosed(run: Any, options: dict[str, Any]) -> Diagnosis:
    from bedside.api import diagnose
    from bedside.errors import BedsideError
    from bedside.finding import Diagnosis

    __tracebackhide__ = True
    if isinstance(run, Diagnosis):
        return run
    try:
        if hasattr(run, "run_dir"):  # a Monitor, which brings its record up to date
            so_far: Diagnosis = run.diagnose()
            return diagnose(run.run_dir, **options) if options else so_far
        return diagnose(run, **options)
    except BedsideError as error:
        pytest.fail(str(error), pytrace=False)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """On GitHub, the findings of failed tests as annotations; the runner takes them from the log."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for report in terminalreporter.stats.get("failed", []):
        for name, lines in report.user_properties:
            if name == ANNOTATIONS:
                terminalreporter.ensure_newline()
                terminalreporter.write(lines)
