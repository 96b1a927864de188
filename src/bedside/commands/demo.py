"""`bedside demo`: two small nets, one healthy and one not, watched from the first step."""

from __future__ import annotations

from importlib.util import find_spec

import click


@click.command(short_help="Watch two small nets train, one of them sick.")
def demo() -> None:
    """Train two small nets, one healthy and one sick, and diagnose both (about a minute)."""
    from bedside.errors import BedsideError

    for module, package in {"torch": "torch", "sklearn": "scikit-learn"}.items():
        if find_spec(module) is None:
            raise BedsideError(
                f"The demo needs {package}, which is not installed.",
                expected="torch and scikit-learn beside bedside; diagnosing logs needs neither",
                try_="pip install 'bedside[demo]'",
            )
    from bedside.demo import main

    main()
