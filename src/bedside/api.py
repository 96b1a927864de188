"""What `import bedside` offers for recorded runs: load one, diagnose it, compare two."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal

import bedside.report  # noqa: F401  (so that what these functions return can be printed and drawn)
from bedside.comparison.compare import compare_runs
from bedside.comparison.result import Comparison
from bedside.diagnosis.engine import examine
from bedside.finding import Diagnosis
from bedside.logs import load
from bedside.record.run import Run
from bedside.settings import settings_for

__all__ = ["compare", "diagnose", "load"]


def diagnose(
    path_or_run: str | PathLike[str] | Run,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    baseline: str | PathLike[str] | Run | None = None,
    config: str | PathLike[str] | Literal[False] | None = None,
) -> Diagnosis:
    """Diagnose a run: a Run, a run folder of bedside's own, or a log that another tool wrote.

    Args:
        path_or_run: The run, or where it is.
        select: Codes, families or names of the rules to run; by default all of them.
        ignore: Codes, families or names of the rules to leave out.
        baseline: A good run of the same family. What it shows as well is normal, and only noted.
        config: The settings file to use instead of the nearest bedside.toml or pyproject.toml; False for none.

    Returns:
        The Diagnosis: print it, or look at `.verdict`, `.findings`, `.not_examined` and `.to_json()`.
    """
    places = () if isinstance(path_or_run, Run) else (path_or_run,)
    settings = settings_for(*places, config=config or None, use=config is not False)
    good = None if baseline is None else settings.load(baseline)
    return examine(settings.load(path_or_run), settings.rules(select=select, ignore=ignore), baseline=good)


def compare(
    a: str | PathLike[str] | Run,
    b: str | PathLike[str] | Run,
    *,
    config: str | PathLike[str] | Literal[False] | None = None,
) -> Comparison:
    """Compare two runs: Runs, run folders of bedside's own, or logs that other tools wrote.

    Args:
        a: The first run, or where it is.
        b: The second run, or where it is.
        config: The settings file to use instead of the nearest bedside.toml or pyproject.toml; False for none.

    Returns:
        The Comparison: print it, or look at `.first`, `.divergences`, `.settings` and `.to_json()`.
    """
    places = [each for each in (a, b) if not isinstance(each, Run)]
    settings = settings_for(*places[:1], config=config or None, use=config is not False)
    return compare_runs(settings.load(a), settings.load(b))
