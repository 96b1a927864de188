"""`bedside zoo`: failures reproduced on purpose, to watch, to score the monitor on, and to hang above the desk."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bedside.commands.choice import CommandGroup, OneOf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bedside.zoo.grading import Row

WORSE = 1  # exit code: the score is worse than the committed one


@click.group(
    cls=CommandGroup, invoke_without_command=True, short_help="Failures reproduced on purpose: list, run, score, guide."
)
@click.pass_context
def zoo(ctx: click.Context) -> None:
    """Small real trainings that fail on purpose, each beside a healthy twin that differs in one line."""
    from bedside.errors import BedsideError, install_extra

    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        return
    for module, package in {"torch": "torch", "sklearn": "scikit-learn"}.items():
        if find_spec(module) is None:
            raise BedsideError(
                f"The zoo needs {package}, which is not installed.",
                expected="torch and scikit-learn beside bedside; diagnosing logs needs neither",
                try_=install_extra("demo"),
            )


@zoo.command("list", short_help="List the specimens.")
def list_() -> None:
    """List every specimen: its name, its severities, and one sentence."""
    from bedside.report.screen import show, width
    from bedside.report.styled_lines import wrapped
    from bedside.zoo.specimens import ZOO

    across = width()
    for each in ZOO:
        severities = ", ".join(each.severities) if len(each.severities) > 1 else ""
        head = (
            (f"{each.name:<30} ", "strong"),
            (f"{each.kind:<12}", ""),
            (severities if each.sick else "healthy", "quiet"),
        )
        show([*wrapped(*head, width=across), *wrapped(each.title, first="    ", width=across)])


@zoo.command(short_help="Train one specimen, and watch it fail.")
@click.argument("name")
@click.option("--healthy", is_flag=True, help="Train the healthy twin: the same without the one line.")
@click.option("--seed", default=0, show_default=True, help="Seed of the data split, the weights and the order.")
@click.option("--severity", help="mild, marked or severe; by default the last but one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the record in this new or empty folder.")
def run(name: str, healthy: bool, seed: int, severity: str | None, output: Path | None) -> None:
    """Train one specimen, show its vitals while it runs, and diagnose it."""
    from bedside.zoo.show import show_specimen
    from bedside.zoo.specimens import find_specimen

    show_specimen(find_specimen(name), healthy=healthy, seed=seed, severity=severity, folder=output)


@zoo.command(short_help="Score the diagnosis on every specimen.")
@click.option("--seeds", help="Comma-separated; by default the published ones: 200,201,202.")
@click.option("--only", multiple=True, metavar="NAMES", help="Only these specimens, comma-separated.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the table goes.  [benchmarks/zoo.csv]")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the committed table would get worse.")
@click.pass_context
def score(ctx: click.Context, seeds: str | None, only: tuple[str, ...], output: Path | None, check: bool) -> None:
    """Train every specimen (or read it from .cache/zoo), diagnose it, and write what was caught and what was not.

    Only published seeds go into the table by default; rules are tuned on others. The curves of the first published
    seed are kept as JSON under .cache/zoo/gallery, a file per specimen, for pages that draw them.
    """
    from bedside.zoo.score import PUBLISHED, TABLE, read, worse, write
    from bedside.zoo.score import score as scored
    from bedside.zoo.specimens import ZOO, find_specimen

    wanted = [word.strip() for names in only for word in names.split(",") if word.strip()]
    specimens = [find_specimen(word) for word in wanted] or list(ZOO)
    numbers = _seeds(seeds) if seeds else list(PUBLISHED)
    with _Progress(len(specimens) * len(numbers)) as done:
        rows = scored(specimens, numbers, done)
    _print(rows)
    if check:
        complaints = worse(rows, read(output or TABLE))
        for each in complaints:
            click.echo(each, err=True)
        ctx.exit(WORSE if complaints else 0)
    if output or set(numbers) <= set(PUBLISHED):
        write(rows, output or TABLE)
        click.echo(f"{output or TABLE}: {len(rows)} rows")


@zoo.command(short_help="The one-page guide to hang above the desk.")
@click.option(
    "-o", "--output", default="guide.html", show_default=True, type=click.Path(path_type=Path), help="Where to."
)
@click.option("--paper", type=OneOf(["a4", "letter"]), default="a4", show_default=True, help="What it is printed on.")
@click.option("--seed", default=100, show_default=True)
def guide(output: Path, paper: str, seed: int) -> None:
    """Write the visual guide of the most common failures as .html, .pdf or .png, drawn from real runs."""
    from bedside.zoo.guide import write_guide

    write_guide(output, seed, paper=paper)
    click.echo(f"{output}: one page")


def _seeds(text: str) -> list[int]:
    from bedside.errors import BadOption

    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise BadOption(
            f"--seeds {text!r} is not a list of whole numbers.",
            expected="numbers with commas between them",
            try_="bedside zoo score --seeds 200,201,202",
        ) from None


class _Progress:
    """A bar on a terminal, a line per specimen elsewhere."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, name: str, seed: int) -> None:
        self._bar.update(self._task, advance=1, description=f"{name}, seed {seed}")


def _print(rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    from bedside.zoo.summary import TARGETS, lines, shares

    table = Table("specimen", "caught", "primary", "delay", "false", "reported instead, or falsely", box=None)
    for each in lines(rows):
        table.add_row(each.specimen, each.caught, each.primary, each.delay, each.false_alarms, each.instead)
    console = Console(highlight=False)
    console.print(table)
    for name, share in shares(rows).items():
        target = f"  (target {100 * TARGETS[name]:.0f} %)" if name in TARGETS else ""
        console.print(f"{name:<26}{share}{target}")
