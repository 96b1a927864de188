"""`bedside explain CODE`: the page of a rule, or of a check before the run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bedside.rules.page import Documented


@click.command(short_help="Print the page of a rule or a check.")
@click.argument("code")
def explain(code: str) -> None:
    """Print the page of a rule or a preflight check, by its code or its name: what it sees, how it decides, when it is
    wrong."""
    from bedside.rules.page import page

    text = page(_find(code))
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from bedside.report.screen import width

    Console(width=width()).print(Markdown(text))


def _find(code: str) -> Documented:
    from bedside.errors import BedsideError
    from bedside.rules import find_rule

    try:
        return find_rule(code)
    except BedsideError as unknown:
        try:
            from bedside.preflight.preflight import find_check
        except ModuleNotFoundError:  # checks need torch, and rules do not
            raise unknown from None
        try:
            return find_check(code)
        except BedsideError as also_unknown:
            raise (also_unknown if code.upper().startswith("PRE") else unknown) from None
