"""`bedside demo`: two small nets, one healthy and one not, watched from the first step."""

from __future__ import annotations

import click


@click.command(short_help="Watch two small nets train, one of them sick.")
def demo() -> None:
    """Train two small nets, one healthy and one sick, and diagnose both (about a minute)."""
    from bedside.demo import main

    main()
