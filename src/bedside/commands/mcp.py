"""`bedside mcp [FOLDER]`: a Model Context Protocol server, for agents."""

from __future__ import annotations

import click


@click.command(short_help="Answer agents over the Model Context Protocol.")
@click.argument("folder", default=".")
def mcp(folder: str) -> None:
    """Answer an agent over stdin and stdout (Model Context Protocol): diagnose, explain, compare, series, runs, rules.

    FOLDER is what the agent may read: the runs in it and below it. Nothing is ever written.
    """
    from importlib.util import find_spec

    from bedside.errors import BedsideError, install_extra

    if find_spec("mcp") is None:
        raise BedsideError(
            "bedside mcp needs the package mcp, which is not installed.",
            expected="the extra `mcp`; `bedside diagnose --format json` gives the same answers without it",
            try_=install_extra("mcp"),
        )
    from bedside.mcp.tool_server import serve

    serve(folder)
