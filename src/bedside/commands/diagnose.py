"""`bedside diagnose PATH…`: what is wrong with these runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bedside.commands.choice import OneOf

if TYPE_CHECKING:
    from bedside.finding import Diagnosis

FINDINGS = 1  # exit code: something at or above --fail-on


@click.command(short_help="Say what is wrong with one or more runs.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "format_",
    type=OneOf(["text", "json", "markdown", "github"]),
    default="text",
    show_default=True,
    help="How to tell it.",
)
@click.option(
    "--fail-on",
    type=OneOf(["error", "warning", "note", "never"]),
    default="error",
    show_default=True,
    help="Exit with 1 when there is a stable finding at least this bad.",
)
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules or families: GRD101,LOS.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these rules or families.")
@click.pass_context
def diagnose(
    ctx: click.Context,
    paths: tuple[str, ...],
    format_: str,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> None:
    """Say what is wrong with a run: bedside's own folder, or a log that another tool wrote.

    Exits with 0 when nothing is at or above --fail-on, 1 when something is, 2 when no path could be read.
    """
    from bedside.diagnose import chosen, examine
    from bedside.errors import BedsideError
    from bedside.logs import load

    catalogue = chosen(select=_codes(select), ignore=_codes(ignore))
    answers: list[Diagnosis] = []
    for path in paths:
        try:
            answers.append(examine(load(path), catalogue))
        except BedsideError as error:
            if len(paths) == 1:
                raise
            click.echo(str(error), err=True)  # the others may still be readable
    _print(answers, format_, several=len(paths) > 1)
    ctx.exit(_exit_code(answers, fail_on))


def _codes(words: Sequence[str]) -> list[str]:
    """`--select GRD101,LOS --select NUM` as one list."""
    return [code.strip() for word in words for code in word.split(",") if code.strip()]


def _print(answers: Sequence[Diagnosis], format_: str, *, several: bool) -> None:
    if format_ == "json":
        import json

        objects = [answer.to_json() for answer in answers]
        click.echo(json.dumps(objects if several else objects[0], indent=2, allow_nan=False))
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
            show(diagnosis_lines(answer, width()))


def _exit_code(answers: Sequence[Diagnosis], fail_on: str) -> int:
    if not answers:
        return 2
    if fail_on == "never":
        return 0
    from bedside.finding import Severity

    return FINDINGS if any(answer.at_least(Severity[fail_on.upper()]) for answer in answers) else 0
