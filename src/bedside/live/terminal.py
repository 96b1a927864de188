"""`bedside watch RUN`: a run in the terminal while it trains. The main vitals, the worst layers, the findings."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import bedside.report  # noqa: F401  (so that answers can be put into words)
from bedside.diagnosis.engine import examine
from bedside.errors import NotARun
from bedside.finding import Diagnosis
from bedside.live.served_folder import Folder, is_growing, signature
from bedside.live.verdicts import to_judge
from bedside.logs import RunFiles
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.report import presentation
from bedside.report.instruments import instrument
from bedside.report.screen import LOOKS, show, width
from bedside.report.sparkline import sparkline
from bedside.report.styled_lines import Line, line, wrapped
from bedside.settings import settings_for
from bedside.wording import number, percent, printable

VITALS = ("loss", "val/loss", "grad_norm", "relative_update_norm", "lr", "loss_scale", "step_time")
MAX_METRICS = 3  # besides the vitals
MAX_LAYERS = 4
EVERY = 1.0  # seconds between two looks at the file
REST = 8.0  # times as long as judging took: the next verdict waits, so looking takes a tenth of a core


def follow(path: Path, *, once: bool = False) -> None:
    """Show a run until it ends or somebody interrupts; `once`, or without a terminal, show it as it is and return."""
    found = _only_run(path)
    run, answer = judge(found)
    if once or not sys.stdout.isatty():
        show(frame(run, answer, width(), growing=is_growing(found, run.ended)))
        return
    _live(found, run, answer)


def judge(found: RunFiles) -> tuple[Run, Diagnosis]:
    run = to_judge(found)
    return run, examine(run, settings_for(found.files[0]).rules())


def frame(run: Run, answer: Diagnosis, across: int, *, growing: bool) -> list[Line]:
    """What is on the screen at one moment."""
    if run.ended:
        state = "ended with an error" if run.finished is False else "ended"
    else:
        state = "training" if growing else "nothing new"  # as far as anybody can see: it may have been killed
    lines = [
        line(
            (presentation.run_name(answer), "strong"),
            f" · {presentation.how_long(answer)} · {state} · ",
            (presentation.headline(answer), answer.verdict),
        ),
        line(),
        *_curves(run, across),
    ]
    if layers := list(_worst_layers(run, across)):
        lines += [line(), *layers]
    lines.append(line())
    whole = presentation.story(answer)
    for chapter in whole.chapters:
        finding = chapter.finding
        head = (f"{finding.severity.word.upper()}  ", finding.severity.word)
        lines += wrapped(
            head, (presentation.label(finding), "strong"), f"  {presentation.when(finding, answer)}", width=across
        )
        lines += wrapped(printable(finding.message), first="  ", width=across)
        if finding.try_:
            lines += wrapped(("try: ", "quiet"), printable(finding.try_[0]), first="  ", rest="    ", width=across)
        for each in chapter.consequences:
            lines += wrapped(
                (f"then {presentation.label(each)}, {presentation.when(each, answer)}", "quiet"),
                first="  ",
                width=across,
            )
    if not whole.chapters:
        lines += wrapped((presentation.reason(answer) or "Nothing found so far.", "quiet"), width=across)
    return lines


def _curves(run: Run, across: int) -> Iterator[Line]:
    whole_run = [vital for vital, owner in run.series_keys if not owner]
    metrics = [vital for vital in whole_run if vital.startswith("val/") and vital != "val/loss"]
    shown = [series for key in (*VITALS, *metrics[:MAX_METRICS]) if (series := run.series(key))]
    names = max((len(each.key) for each in shown), default=0)
    last = max(run.steps - 1, 1)
    for each in shown:
        points = list(zip(each.steps.tolist(), each.values.tolist(), strict=True))
        drawn = sparkline(points, max(16, across - names - 18), name=each.key, first=0, last=last)
        ends = number(each.last) + (" (log)" if drawn.log else "")
        yield line((f"  {printable(each.key):<{names}}  ", "quiet"), (drawn.drawn, "curve"), f" {ends}")


def _worst_layers(run: Run, across: int) -> Iterator[Line]:
    """Layers with the least gradient for their place, and those with the most dead units."""
    wanted = instrument(run, "layers:grad_norm")
    panel = wanted.read(run) if wanted is not None else None
    if panel is not None:
        yield from wrapped(("gradient  ", "quiet"), panel.say, first="  ", width=across)
        off = [row for row in panel.extra["table"] if row["status"] != "in balance"][:MAX_LAYERS]
        for row in off:
            said = f"{printable(row['layer'])}: {row['norm']}, {row['share']} of the whole, "
            yield from wrapped(said, (row["status"], "warning"), first="    ", width=across)
    dead: list[Series] = [each for each in run.of("dead_fraction") if each and each.last > 0.5]
    for each in sorted(dead, key=lambda each: -each.last)[:MAX_LAYERS]:
        share = (f"{percent(each.last)} of its units are dead", "warning")
        yield from wrapped(f"{printable(each.owner)}: ", share, first="    ", width=across)


def _live(found: RunFiles, run: Run, answer: Diagnosis) -> None:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    def drawn(run: Run, answer: Diagnosis) -> Group:
        lines = frame(run, answer, width(), growing=growing)
        return Group(*(Text.assemble(*((text, LOOKS.get(role, "")) for text, role in each)) for each in lines))

    seen, rest, growing = signature(found), 0.0, is_growing(found, run.ended)
    with Live(drawn(run, answer), console=Console(highlight=False), auto_refresh=False) as live:
        while not run.ended:
            time.sleep(max(EVERY, rest))
            if signature(found) != seen:
                seen, began = signature(found), time.perf_counter()
                run, answer = judge(found)
                rest = REST * (time.perf_counter() - began)
            elif growing == is_growing(found, run.ended):
                continue
            growing = is_growing(found, run.ended)
            live.update(drawn(run, answer), refresh=True)


def _only_run(path: Path) -> RunFiles:
    """The run at a path; of a folder with several the one that grew last."""
    runs = Folder(path).runs()
    if not runs:
        raise NotARun(
            f"There is no run in {path}.",
            expected="a run folder or a log, or a folder with some of them",
            try_="bedside watch bedside-runs",
        )
    return max(runs.values(), key=lambda each: max((when for when, _ in signature(each)), default=0))
