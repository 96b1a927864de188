"""`bedside preflight MODULE:FUNCTION`: check a training before its first step."""

from __future__ import annotations

from typing import Any

import click

from bedside.commands.choice import OneOf

FAILED = 1  # exit code: something at or above --fail-on


@click.command(short_help="Check a training before its first step.")
@click.argument("target", required=False, metavar="MODULE:FUNCTION")
@click.option("--depth", type=OneOf(["fast", "full"]), default="fast", show_default=True, help="Seconds, or minutes.")
@click.option("--format", "format_", type=OneOf(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=OneOf(["error", "warning", "note", "never"]),
    default="warning",
    show_default=True,
    help="Exit with 1 when there is a finding at least this bad.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the numbers behind each line as well.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these checks: PRE101,PRE203.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these checks.")
@click.option("--list", "list_", is_flag=True, help="List the checks.")
@click.pass_context
def preflight(
    ctx: click.Context,
    target: str | None,
    depth: str,
    format_: str,
    fail_on: str,
    verbose: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    list_: bool,
) -> None:
    """Check the training that FUNCTION returns: a dict with model, train_loader, loss_fn, optimizer and, where there
    are any, val_loader, scheduler, steps, classes, forward and loop. Also FILE.py:FUNCTION.

    Prints one line per check. Exits with 0 when nothing is at or above --fail-on, 1 when something is, 2 when it could
    not look. Nothing of the training is changed.
    """
    from bedside.errors import BadOption, BedsideError, install_extra

    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise BedsideError(
            "Preflight needs torch, which is not installed.", expected="torch", try_=install_extra("torch")
        ) from None
    if list_:
        _print_list(format_)
        return
    if target is None:
        raise BadOption(
            "No training was named.",
            expected="MODULE:FUNCTION or FILE.py:FUNCTION, where the function returns a dict",
            try_="bedside preflight train.py:setup",
        )
    from bedside.preflight.named_function import training_of
    from bedside.preflight.preflight import preflight as run

    codes = [[code for word in each for code in word.split(",") if code] for each in (select, ignore)]
    result = run(**training_of(target), depth=depth, select=codes[0], ignore=codes[1])
    _print(result, format_, verbose=verbose)
    ctx.exit(_exit_code(result, fail_on))


def _print(result: Any, format_: str, *, verbose: bool) -> None:
    if format_ == "json":
        import json

        click.echo(json.dumps(result.to_json(), indent=2, allow_nan=False))
        return
    from bedside.report.screen import show, width

    show(result.lines(width(), verbose=verbose))


def _exit_code(result: Any, fail_on: str) -> int:
    from bedside.finding import Severity

    return FAILED if fail_on != "never" and result.at_least(Severity[fail_on.upper()]) else 0


def _print_list(format_: str) -> None:
    from bedside.preflight.checks import CATALOGUE

    if format_ == "json":
        import json

        rows = [
            {"code": each.code, "name": each.name, "severity": each.severity.word, "depth": each.depth,
             "needs": list(each.needs), "sentence": each.title}
            for each in CATALOGUE
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=2))
        return
    wide = max(len(each.name) for each in CATALOGUE)
    for each in CATALOGUE:
        click.echo(f"{each.code}  {each.name:<{wide}}  {each.depth:<4}  {each.title}")
