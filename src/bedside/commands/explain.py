"""`bedside explain CODE`: a rule's page."""

from __future__ import annotations

import sys

import click


@click.command(short_help="Print the page of a rule.")
@click.argument("code")
def explain(code: str) -> None:
    """Print the page of a rule, by its code or its name: what it sees, how it decides, when it is wrong."""
    from bedside.rules import find_rule
    from bedside.rules.page import page

    text = page(find_rule(code))
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from bedside.report.screen import width

    Console(width=width()).print(Markdown(text))
