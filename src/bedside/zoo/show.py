"""One specimen on screen: the vitals while it trains, then the diagnosis, as a demo would show it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bedside.analysis.leaf_modules import leaves
from bedside.diagnosis.engine import examine
from bedside.monitor.monitor import Monitor
from bedside.record.run import Run
from bedside.record.sqlite.reader import open_run
from bedside.record.vocabulary import GRAD_NORM
from bedside.report.screen import show
from bedside.report.sparkline import sparkline
from bedside.report.text import diagnosis_lines
from bedside.wording import number
from bedside.zoo.run_cache import TWIN, run_case
from bedside.zoo.specimen import Specimen

VITALS = ("loss", "val/loss", "val/accuracy", "lr", "grad_norm", "relative_update_norm")
EVERY = 0.5  # seconds between two looks
PER_LAYER = 12  # bars: as many layers as fit beside the curves
BAR = "▏▎▍▌▋▊▉█"


def show_specimen(
    specimen: Specimen,
    *,
    healthy: bool = False,
    seed: int = 0,
    severity: str | None = None,
    folder: Path | None = None,
) -> None:
    """Train it, watched, and print what the monitor makes of it."""
    chosen = TWIN if healthy else severity or _usual(specimen)
    if not healthy and specimen.sick:
        specimen.value_of(chosen)  # an unknown severity is refused before anything is printed
    console = Console(highlight=False)
    console.print(Text(specimen.title, style="bold"))
    if specimen.the_line:
        console.print(Text(f"The one line: {specimen.the_line}", style="dim"))
    with tempfile.TemporaryDirectory(prefix="bedside-zoo-") as temporary:
        place = folder or Path(temporary) / specimen.name
        with Live(console=console, refresh_per_second=4, transient=not console.is_terminal) as live:
            run_case(specimen, chosen, seed, place, _Look(live))
        show(diagnosis_lines(examine(open_run(place))))
        said = "nothing: this one is healthy" if healthy or not specimen.sick else _expected(specimen)
        console.print(Text(f"\nExpected: {said}.", style="dim"))


def _usual(specimen: Specimen) -> str:
    severities = list(specimen.severities)
    return severities[-2] if len(severities) > 1 else severities[0]


def _expected(specimen: Specimen) -> str:
    return ", or ".join(" or ".join(group) for group in specimen.expects)


class _Look:
    """Called after every step; looks now and then."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._last = time.monotonic()

    def __call__(self, monitor: Monitor) -> None:
        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        diagnosis = monitor.diagnose()
        run = open_run(monitor.run_dir)
        alarms = [Text(f"{each.code} {each.name}", style="red") for each in diagnosis.findings if each.severity > 1]
        said: list[Text] = alarms or [Text("nothing to report", style="green")]
        self._live.update(Panel(Group(_curves(run), Text(), _layers(run), Text(), *said), title=f"step {run.steps}"))


def _curves(run: Run) -> Table:
    table = Table.grid(padding=(0, 2))
    for key in VITALS:
        series = run.series(key)
        if series:
            pairs = list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
            table.add_row(key, Text(sparkline(pairs, 44).drawn, style="blue"), number(series.last))
    return table


def _layers(run: Run) -> Table:
    """The gradient of each layer, front first, on a logarithmic scale."""
    table = Table.grid(padding=(0, 2))
    shown = [(each.owner, each.median(5)) for each in leaves(run, GRAD_NORM)][:PER_LAYER]
    loudest = max((value for _, value in shown if value == value), default=0.0)
    for owner, value in shown:
        table.add_row(f"gradient of {owner}", Text(_bar(value, loudest), style="cyan"), number(value))
    return table


def _bar(value: float, loudest: float, width: int = 24, decades: float = 8.0) -> str:
    from math import isfinite, log10

    if not isfinite(value) or value <= 0 or not isfinite(loudest):
        return ""
    length = width * max(0.0, 1 + log10(value / loudest) / decades)
    whole = int(length)
    return "█" * whole + (BAR[int((length - whole) * len(BAR))] if whole < width else "")
