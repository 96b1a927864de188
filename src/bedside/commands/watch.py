"""`bedside watch RUN`: a run in the terminal while it trains."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Show one run in the terminal while it trains.")
@click.argument("path", type=click.Path(path_type=Path), default="bedside-runs")
@click.option("--once", is_flag=True, help="Show the run once, as it is now.")
def watch(path: Path, once: bool) -> None:
    """Show a run in the terminal while it trains: the main vitals, the worst layers, the findings.

    Of a folder with several runs, the one that grew last. Ends when the training ends, or with Ctrl-C. If standard
    output is not a terminal, the run is shown once.
    """
    from bedside.live.terminal import follow

    follow(path, once=once)
