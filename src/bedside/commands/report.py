"""`bedside report PATH -o report.html`: the diagnosis as one file to keep or to send."""

from __future__ import annotations

from pathlib import Path

import click

from bedside.commands.choice import settings_options


@click.command(short_help="Write a diagnosis as an HTML page.")
@click.argument("path")
@click.option(
    "-o", "--output", default="report.html", show_default=True, type=click.Path(path_type=Path), help="Where to."
)
@settings_options
def report(path: str, output: Path, config: str | None, no_config: bool) -> None:
    """Write a run's diagnosis as a self-contained HTML page."""
    from bedside.api import diagnose
    from bedside.errors import BadOption
    from bedside.report.html import diagnosis_to_page
    from bedside.rules import find_rule
    from bedside.rules.page import page

    answer = diagnose(path, config=False if no_config else config)
    pages = {finding.code: page(find_rule(finding.code)) for finding in answer.findings}
    try:
        output.write_text(diagnosis_to_page(answer, pages), encoding="utf-8")
    except OSError as error:
        raise BadOption(
            f"Cannot write {str(output)!r}: {error.strerror}.",
            expected="a file in a folder that exists and may be written to",
            try_=f"bedside report {path} -o report.html",
        ) from None
    click.echo(f"{output}: {answer.run} is {answer.verdict}")
