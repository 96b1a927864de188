"""`bedside rules`: the catalogue, two lines a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bedside.commands.choice import OneOf

if TYPE_CHECKING:
    from bedside.report.styled_lines import Line
    from bedside.rules import Rule


@click.command(short_help="List the rules.")
@click.option("--format", "format_", type=OneOf(["text", "json"]), default="text", show_default=True)
def rules(format_: str) -> None:
    """List every rule: code, name, severity, whether it is a preview, what it needs, and one sentence."""
    from bedside.rules import CATALOGUE

    if format_ == "json":
        import json

        from bedside.rules.page import as_json

        click.echo(json.dumps([as_json(each) for each in CATALOGUE], indent=2))
        return
    from bedside.report.screen import show, width

    across = width()
    show([line for each in CATALOGUE for line in _lines(each, across)])


def _lines(rule: Rule, width: int) -> list[Line]:
    from bedside.report.styled_lines import wrapped
    from bedside.rules.page import needs

    severity, status = rule.severity.word, "preview" if rule.preview else "stable"
    head = wrapped(
        (f"{rule.code}  ", "strong"),
        (f"{rule.name:<26} ", "strong"),
        (f"{severity:<9}", severity),
        f"{status:<9}",
        (f"needs {needs(rule)}" if rule.needs else "", "quiet"),
        rest=" " * 8,
        width=width,
    )
    return [*head, *wrapped(rule.title, first=" " * 8, width=width)]
