"""`bedside serve DIR`: the live page of every run under a folder."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Show every run under a folder in the browser, live.")
@click.argument("folder", type=click.Path(path_type=Path), default="bedside-runs")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; other machines need a token.")
@click.option("--port", type=int, help="By default 8642, or the next one that is free.")
@click.option("--token", help="A secret that the browser must send; generated when other machines can connect.")
def serve(folder: Path, host: str, port: int | None, token: str | None) -> None:
    """Show every run under FOLDER in the browser: verdicts, curves that grow, comparisons, the gallery of failures.

    Records are opened for reading only, in a process of its own: a training does not notice. Logs of other tools
    (TensorBoard, W&B, CSV, …) are shown too. Ctrl-C ends it.
    """
    from bedside.live.server import serve as start

    start(folder, host=host, port=port, token=token, say=lambda said: click.echo(said))
