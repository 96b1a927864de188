"""`bedside diagnose PATH…`: what is wrong with these runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import TYPE_CHECKING

import click

from bedside.commands.choice import OneOf, settings_options

if TYPE_CHECKING:
    from bedside.diagnosis.many_runs import Job
    from bedside.finding import Diagnosis, Failure

SOON_DONE = 8  # runs that need no progress bar
FINDINGS = 1  # exit code: something at or above --fail-on


@click.command(short_help="Say what is wrong with one or more runs.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "format_",
    type=OneOf(["text", "json", "markdown", "github"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@click.option(
    "--fail-on",
    type=OneOf(["error", "warning", "note", "never"]),
    default=None,
    show_default="error",
    help="Exit with 1 when there is a stable finding at least this bad.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show numbers, hypotheses and what was not examined as well.")
@click.option("--baseline", metavar="RUN", help="A good run of the same kind: what it shows too counts as normal.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules or families: GRD101,LOS.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these rules or families.")
@click.option("--format-in", metavar="FORMAT", help="Read the logs as this format, whatever they look like.")
@click.option("--map", "renames", multiple=True, metavar="OLD=NEW", help="Read metric OLD as NEW; - leaves it out.")
@click.option("--explain-names", is_flag=True, help="Show how each metric name was read.")
@settings_options
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes for many runs; all cores by default.")
@click.option("--on", type=OneOf(["ray"]), help="Distribute many runs over this engine.")
@click.pass_context
def diagnose(
    ctx: click.Context,
    paths: tuple[str, ...],
    format_: str,
    fail_on: str | None,
    verbose: bool,
    baseline: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_in: str | None,
    renames: tuple[str, ...],
    explain_names: bool,
    config: str | None,
    no_config: bool,
    jobs: int | None,
    on: str | None,
) -> None:
    """Say what is wrong with a run: bedside's own folder, a log that another tool wrote, or a tree of either.

    A folder of many runs gives a table, worst first. Exits with 0 when nothing is at or above --fail-on, 1 when
    something is, 2 when nothing could be read.
    """
    import bedside.report  # noqa: F401  (answers of other processes show themselves here)
    from bedside.diagnosis.many_runs import Order, diagnose_all, good_run
    from bedside.finding import Diagnosis, Failure
    from bedside.settings import settings_for

    settings = settings_for(*paths[:1], config=config, use=not no_config)
    mapping = {**settings.map, **_mapping(renames)}
    found = _find(paths, format_in)
    if len(found) == 1:
        _refuse_unknown(_mapping(renames), found)
    order = Order(
        _codes(select) or settings.select,
        _codes(ignore) or settings.ignore,
        mapping,
        format_in,
        settings.limits,
        baseline,
        pictures=len(found) <= len(paths),
    )
    good_run(order)  # one that cannot be read ends it here, and not once for every run
    with _progress(len(found)) as tell:
        outcomes = diagnose_all(found, order, on=on or "", workers=jobs, tell=tell, tree=len(found) > len(paths))
    answers = [each for each in outcomes if isinstance(each, Diagnosis)]
    failures = [each for each in outcomes if isinstance(each, Failure)]
    if format_ == "text" and len(outcomes) > len(paths):
        _print_table(outcomes)
    else:
        for failure in failures:
            click.echo(failure.error, err=True)  # the others may still be readable
        several = max(len(outcomes), len(paths)) > 1
        if answers or several:
            _print(answers, format_, several=several, verbose=verbose)
    if explain_names:
        _print_names(found, mapping, tree=len(found) > len(paths), to_stderr=format_ != "text")
    ctx.exit(_exit_code(answers, fail_on or settings.fail_on))


def _find(paths: Sequence[str], format_in: str | None) -> list[Job]:
    """The runs at all paths. A path without any is reported; only when there is no other does it end here."""
    from bedside.errors import BedsideError
    from bedside.logs import find_runs
    from bedside.logs.remote import is_remote, remote_runs

    found: list[Job] = []
    for path in paths:
        try:
            found += remote_runs(path) if is_remote(path) else find_runs(path, format_in=format_in)
        except BedsideError as error:
            if len(paths) == 1:
                raise
            click.echo(str(error), err=True)
    return found


def _mapping(renames: Sequence[str]) -> dict[str, str]:
    from bedside.errors import BadOption

    pairs = [word.partition("=") for word in renames]
    for word, (old, equals, new) in zip(renames, pairs, strict=True):
        if not (old.strip() and equals and new.strip()):
            raise BadOption(
                f"--map {word!r} is not OLD=NEW.",
                expected="a metric's name in the log, =, and ours: loss, val/loss, val/accuracy, grad_norm, lr",
                try_="--map my_objective=loss",
            )
    return {old.strip(): new.strip() for old, _, new in pairs}


def _refuse_unknown(asked: Mapping[str, str], found: Sequence[Job]) -> None:
    """A name in --map that the only log does not have would be renamed in silence; of many logs some may have it."""
    from bedside.diagnosis.many_runs import names_of
    from bedside.errors import unknown_name

    for path, names in names_of(found, {}, tree=False) if asked else ():
        known = [name.strip() for name in names]
        for old in asked:
            if known and old not in known:
                raise unknown_name("metric of this log", old, known, try_=f"bedside diagnose {path} --explain-names")


@contextmanager
def _progress(runs: int) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the terminal while many runs are read; nothing elsewhere."""
    if runs <= SOON_DONE or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading runs", total=runs)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_table(outcomes: Sequence[Diagnosis | Failure]) -> None:
    from bedside.report.runs_table import table_lines
    from bedside.report.screen import show, width

    show(table_lines(outcomes, width()))


def _print_names(found: Sequence[Job], mapping: Mapping[str, str], *, tree: bool, to_stderr: bool) -> None:
    from bedside.diagnosis.many_runs import names_of
    from bedside.wording import printable

    for run, names in names_of(found, mapping, tree=tree):
        wide = max((len(printable(old)) for old in names), default=0)
        click.echo(f"\nNames in {printable(run)}:", err=to_stderr)
        for old, new in names.items():
            read_as = "kept" if old == new else f"→ {printable(new)}"
            click.echo(f"  {printable(old):<{wide}}  {read_as}", err=to_stderr)


def _codes(words: Sequence[str]) -> list[str]:
    """`--select GRD101,LOS --select NUM` as one list."""
    return [code.strip() for word in words for code in word.split(",") if code.strip()]


def _print(answers: Sequence[Diagnosis], format_: str, *, several: bool, verbose: bool) -> None:
    if format_ == "json":
        import json

        if not several:
            click.echo(json.dumps(answers[0].to_json(), indent=2, allow_nan=False))
            return
        click.echo("[", nl=False)  # one by one: thousands of them at once would fill memory
        for place, answer in enumerate(answers):
            text = json.dumps(answer.to_json(), indent=2, allow_nan=False)
            click.echo(f"{',' if place else ''}\n{indent(text, '  ')}", nl=False)
        click.echo("\n]" if answers else "]")
    elif format_ == "markdown":
        from bedside.report.markdown import diagnosis_to_markdown

        click.echo("\n".join(map(diagnosis_to_markdown, answers)), nl=False)
    elif format_ == "github":
        from bedside.report.github import diagnosis_to_github

        click.echo("".join(map(diagnosis_to_github, answers)), nl=False)
    else:
        from bedside.report.screen import show, width
        from bedside.report.text import diagnosis_lines

        for place, answer in enumerate(answers):
            if place:
                click.echo("\n" + "─" * 40 + "\n")
            show(diagnosis_lines(answer, width(), verbose=verbose))


def _exit_code(answers: Sequence[Diagnosis], fail_on: str) -> int:
    if not answers:
        return 2
    if fail_on == "never":
        return 0
    from bedside.finding import Severity

    return FINDINGS if any(answer.at_least(Severity[fail_on.upper()]) for answer in answers) else 0
