"""`bedside compare A B`: where two runs diverge, and what was set differently."""

from __future__ import annotations

import click

from bedside.commands.choice import OneOf, settings_options

DIVERGED = 1  # exit codes as `diff` has them
UNCLEAR = 2


@click.command(short_help="Say where two runs diverge, and what was set differently.")
@click.argument("a")
@click.argument("b")
@click.option(
    "--format", "format_", type=OneOf(["text", "json"]), default="text", show_default=True, help="How to print it."
)
@settings_options
@click.pass_context
def compare(ctx: click.Context, a: str, b: str, format_: str, config: str | None, no_config: bool) -> None:
    """Say from which step on two runs differ for good, in which vital and module first, and what was set differently.

    A and B are runs of bedside's own or logs that other tools wrote. Exits with 0 when they are alike, 1 when they
    diverge, 2 when they could not be compared.
    """
    from bedside.api import compare as side_by_side

    answer = side_by_side(a, b, config=False if no_config else config)
    if format_ == "json":
        import json

        click.echo(json.dumps(answer.to_json(), indent=2, allow_nan=False))
    else:
        from bedside.report.comparison import comparison_lines
        from bedside.report.screen import show, width

        show(comparison_lines(answer, width()))
    ctx.exit({"alike": 0, "they diverge": DIVERGED}.get(answer.verdict, UNCLEAR))
