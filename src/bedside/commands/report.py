"""`bedside report PATH -o report.html`: the diagnosis and the curves as one file to keep or to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bedside.commands.choice import settings_options

if TYPE_CHECKING:
    from bedside.finding import Diagnosis
    from bedside.record.run import Run


@click.command(short_help="Write a diagnosis as an HTML page, Markdown, JSON or PNG files.")
@click.argument("path")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to: a name that ends in .html, .md or .json.  [default: report.html]",
)
@click.option("--png", metavar="DIR", type=click.Path(path_type=Path), help="Write every chart as a PNG into DIR.")
@settings_options
def report(path: str, output: Path | None, png: Path | None, config: str | None, no_config: bool) -> None:
    """Write a run's diagnosis and charts as a self-contained HTML page.

    The page needs no network and no server: open it, print it, or attach it to an e-mail. `-o report.md` writes
    Markdown for a pull request, `-o report.json` the JSON of `bedside diagnose`, and `--png DIR` a picture of every
    chart.
    """
    import bedside.report  # noqa: F401  (so that the answer can be printed)
    from bedside.diagnosis.engine import examine
    from bedside.errors import BadOption
    from bedside.settings import settings_for
    from bedside.wording import printable

    settings = settings_for(path, config=config, use=not no_config)
    run = settings.load(path)
    answer = examine(run, settings.rules())
    if output is None and png is None:
        output = Path("report.html")
    try:
        if output is not None:
            output.write_text(_written(run, answer, output), encoding="utf-8")
            click.echo(printable(f"{output}: {answer.run} is {answer.verdict}"))
        if png is not None:
            from bedside.report.finding_charts import onset_mark
            from bedside.report.plots.instrument_figures import write_figures

            marks = [onset_mark(answer.primary)] if answer.primary else []
            click.echo(f"{printable(str(png))}: {len(write_figures(run, png, marks=marks))} charts")
    except OSError as error:
        raise BadOption(
            f"Cannot write {str(output or png)!r}: {error.strerror}.",
            expected="a file in a folder that exists and may be written to",
            try_=f"bedside report {path} -o report.html",
        ) from None


def _written(run: Run, answer: Diagnosis, output: Path) -> str:
    """The report in the format that the name's ending asks for."""
    import json

    from bedside.errors import BadOption

    kind = output.suffix.lower()
    if kind in (".html", ".htm"):
        from bedside.report.standalone import run_to_page
        from bedside.rules import find_rule
        from bedside.rules.page import page

        return run_to_page(run, answer, {each.code: page(find_rule(each.code)) for each in answer.findings})
    if kind == ".md":
        from bedside.report.markdown import diagnosis_to_markdown

        return diagnosis_to_markdown(answer)
    if kind == ".json":
        return json.dumps(answer.to_json(), indent=2, allow_nan=False) + "\n"
    raise BadOption(
        f"A report cannot be written as {output.name!r}.",
        expected="a name that ends in .html, .md or .json",
        try_=f"bedside report RUN -o {output.with_suffix('.html').name or 'report.html'}",
    )
