"""What an agent can ask: plain functions that answer in the words and the JSON of the command line.

Their signatures are the tools' arguments, and their docstrings are what the agent reads about them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bedside import api
from bedside.errors import BadOption
from bedside.mcp.bounds import Bounds
from bedside.record.series import Series
from bedside.record.series_names import name_of
from bedside.report.json import plain
from bedside.rules import CATALOGUE, find_rule
from bedside.rules.page import as_json, page
from bedside.settings import settings_for

# An answer has to fit into the context of a language model, with room for the next question.
MAX_RUNS = 200
MAX_SERIES = 20
MAX_POINTS = 1000


class Tools:
    """The tools of one server, all of them confined to one folder."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def every(self) -> list[Callable[..., Any]]:
        return [self.runs, self.diagnose, self.explain, self.compare, self.series, self.rules]

    def runs(self, path: str = ".") -> dict[str, Any]:
        """List the training runs under a folder: bedside's own records and the logs of other tools.

        Args:
            path: A folder, or a file that holds several runs; by default everything that this server may read.
        """
        found = self._bounds.runs(path)
        listed = [{"run": os.path.normpath(each.name), "format": each.format} for each in found[:MAX_RUNS]]
        return {"runs": listed, "left_out": len(found) - len(listed)}

    def diagnose(
        self,
        run: str,
        baseline: str | None = None,
        select: list[str] | None = None,
        ignore: list[str] | None = None,
    ) -> dict[str, Any]:
        """Say what is wrong with one training run: where, since when, how sure, what else it could be, what to try.

        `verdict` is sick, healthy or unclear (with `reason` and what would settle it). Of the `findings` one is
        `primary`; `try` has the advice, most likely first. `not_examined` names the rules that the run has no data for.

        Args:
            run: A run folder of bedside's own, or a log that another tool wrote (see the tool `runs`).
            baseline: A good run of the same family: what it shows as well is normal, and only noted.
            select: Codes, families or names of the rules to run; by default all of them.
            ignore: Codes, families or names of the rules to leave out.
        """
        good = None if baseline is None else self._bounds.run(baseline)
        answer = api.diagnose(self._bounds.run(run), select=select or (), ignore=ignore or (), baseline=good)
        return answer.to_json()

    def explain(self, code: str) -> str:
        """The page of a rule in Markdown: what it sees, why it matters, how it decides, when it is wrong, what to try.

        Args:
            code: A rule's code or name, as in a finding: `GRD101` or `vanishing-gradient`.
        """
        return page(find_rule(code))

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """Compare two training runs: from which step on they differ for good, in which series first, and what was set
        differently.

        Args:
            a: The first run.
            b: The second run.
        """
        return api.compare(self._bounds.run(a), self._bounds.run(b)).to_json()

    def series(
        self,
        run: str,
        names: list[str] | None = None,
        first_step: int | None = None,
        last_step: int | None = None,
        points: int = 100,
    ) -> dict[str, Any]:
        """Read recorded numbers of a run; without `names`, list the names of its series.

        Where there are more readings than `points`, the lowest and highest of each part are returned, so that spikes
        are kept; ask again between two steps to see more. NaN and infinities are the strings "NaN", "Infinity" and
        "-Infinity".

        Args:
            run: A run (see the tool `runs`).
            names: Names of series, in which `*` stands for anything: `train/loss`, `val/*`, `grad_norm/layers.0`.
            first_step: The first step wanted.
            last_step: The last step wanted.
            points: About how many readings of each series, at most 1000.
        """
        if not 1 <= points <= MAX_POINTS:
            raise BadOption(
                f"points={points} is out of range.", expected=f"a number from 1 to {MAX_POINTS}", try_="points=100"
            )
        place = self._bounds.run(run)
        loaded = settings_for(place).load(place)
        answer: dict[str, Any] = {"run": loaded.name, "axis": loaded.axis, "steps": loaded.steps}
        if not names:
            return {**answer, "names": loaded.keys()}
        found = loaded.select(*names)
        shown = [_between(each, first_step, last_step) for each in found[:MAX_SERIES]]
        return {
            **answer,
            "series": [_as_json(each, points) for each in shown],
            "left_out": [name_of((each.vital, each.owner)) for each in found[MAX_SERIES:]],
        }

    def rules(self) -> dict[str, Any]:
        """List every rule: its code, name, severity, status, what it needs, and one sentence."""
        return {"rules": [as_json(each) for each in CATALOGUE]}


def _between(series: Series, first: int | None, last: int | None) -> Series:
    later = series if first is None else series.since(first)
    return later if last is None else later.before(last + 1)


def _as_json(series: Series, points: int) -> dict[str, Any]:
    thin = series.thinned(points)
    return {
        "name": name_of((series.vital, series.owner)),
        "readings": len(series),
        "steps": thin.steps.tolist(),
        "values": plain(thin.values),
    }
